"""Does vLLM have the model class that a config names?

From the registries of 0.16.0, 0.19.1, 0.24.0 and 0.32.0 (`model_executor/models/registry.py`): what is not here is not
known, a class of a later release among it.
"""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

_NAMES = """
    AXK1ForCausalLM AfmoeForCausalLM ApertusForCausalLM ArceeForCausalLM AriaForConditionalGeneration
    AudioFlamingo3ForConditionalGeneration BagelForConditionalGeneration BailingMoeForCausalLM
    BailingMoeV2ForCausalLM BailingMoeV2_5ForCausalLM BailingMoeV3ForCausalLM
    BailingMoeV3VLForConditionalGeneration BeeForConditionalGeneration BertForMaskedLM
    BertForSequenceClassification BertForTokenClassification BertModel BertSpladeSparseEmbeddingModel
    BgeM3EmbeddingModel Blip2ForConditionalGeneration BloomForCausalLM CLIPModel ChatGLMForConditionalGeneration
    ChatGLMModel ClefOmniForJointSchema Cohere2ForCausalLM Cohere2MoeForCausalLM
    Cohere2VisionForConditionalGeneration CohereAsrForConditionalGeneration
    CohereCompassForConditionalGeneration CohereForCausalLM ColBERTJinaRobertaModel ColBERTLfm2Model
    ColBERTModernBertModel ColModernVBertForRetrieval ColPaliForRetrieval ColQwen3 ColQwen3_5
    Cosmos3EdgeForConditionalGeneration Cosmos3ForConditionalGeneration CwmForCausalLM DbrxForCausalLM
    DeciLMForCausalLM DeepseekForCausalLM DeepseekOCR2ForCausalLM DeepseekOCRForCausalLM DeepseekV2ForCausalLM
    DeepseekV32ForCausalLM DeepseekV3BidirectionalModel DeepseekV3ForCausalLM DeepseekV41ForCausalLM
    DeepseekV4ForCausalLM DeepseekV4ForConditionalGeneration DeepseekVLV2ForCausalLM
    DiffusionGemmaForBlockDiffusion Dots3NoteForCausalLM DotsOCRForCausalLM Eagle2_5_VLForConditionalGeneration
    EmbeddingGemma2Model Emu3ForConditionalGeneration Ernie4_5ForCausalLM Ernie4_5_MoeForCausalLM
    Ernie4_5_VLMoeForConditionalGeneration Exaone4ForCausalLM Exaone4_5_ForConditionalGeneration
    ExaoneForCausalLM ExaoneMoEForCausalLM ExaoneMoeForCausalLM FalconForCausalLM FalconH1ForCausalLM
    FalconMambaForCausalLM FireRedASR2ForConditionalGeneration FlexOlmoForCausalLM
    FunASRForConditionalGeneration FunAudioChatForConditionalGeneration GLM4VForCausalLM
    GPT2ForSequenceClassification GPT2LMHeadModel GPTBigCodeForCausalLM GPTJForCausalLM GPTNeoXForCausalLM
    Gemma2ForCausalLM Gemma2Model Gemma3ForCausalLM Gemma3ForConditionalGeneration Gemma3TextModel
    Gemma3nForCausalLM Gemma3nForConditionalGeneration Gemma4ForCausalLM Gemma4ForConditionalGeneration
    Gemma4UnifiedForConditionalGeneration GemmaForCausalLM Glm4ForCausalLM Glm4MoeForCausalLM
    Glm4MoeLiteForCausalLM Glm4vForConditionalGeneration Glm4vMoeForConditionalGeneration Glm5NextForCausalLM
    Glm5NextForConditionalGeneration GlmAsrForConditionalGeneration GlmForCausalLM GlmMoeDsaForCausalLM
    GlmOcrForConditionalGeneration GptOssForCausalLM Granite4VisionForConditionalGeneration GraniteForCausalLM
    GraniteMoeForCausalLM GraniteMoeHybridForCausalLM GraniteMoeSWAForCausalLM GraniteMoeSharedForCausalLM
    GraniteSWAForCausalLM GraniteSpeechForConditionalGeneration GraniteSpeechPlusForConditionalGeneration
    GteModel GteNewForSequenceClassification GteNewModel H2OVLChatModel HCXVisionV2ForCausalLM HF_ColBERT
    HYV3ForCausalLM HYV4ForCausalLM HfMoondream HrmTextForCausalLM HunYuanDenseV1ForCausalLM
    HunYuanMoEV1ForCausalLM HunYuanVLForConditionalGeneration HyperCLOVAXForCausalLM IQuestCoderForCausalLM
    IQuestLoopCoderForCausalLM Idefics3ForConditionalGeneration InklingForCausalLM
    InklingForConditionalGeneration InternLM2ForCausalLM InternLM2ForRewardModel InternLM3ForCausalLM
    InternS1ForConditionalGeneration InternS1ProForConditionalGeneration InternS2MobiusForConditionalGeneration
    InternS2PreviewForConditionalGeneration InternVLChatModel InternVLForConditionalGeneration
    IsaacForConditionalGeneration Jais2ForCausalLM JambaForCausalLM JambaForSequenceClassification
    JinaEmbeddingsV5Model JinaForRanking JinaVLForRanking K2HorizonForCausalLM KananaVForConditionalGeneration
    KeyeForConditionalGeneration KeyeVL1_5ForConditionalGeneration KimiK25ForConditionalGeneration
    KimiK3ForConditionalGeneration KimiLinearForCausalLM KimiVLForConditionalGeneration LLaMAForCausalLM
    LagunaForCausalLM Lfm2ForCausalLM Lfm2MoeForCausalLM Lfm2VlForConditionalGeneration
    LightOnOCRForConditionalGeneration Llama4ForCausalLM Llama4ForConditionalGeneration
    LlamaBidirectionalForSequenceClassification LlamaBidirectionalModel LlamaForCausalLM LlamaModel
    LlamaNemotronVLForSequenceClassification LlamaNemotronVLModel Llama_Nemotron_Nano_VL
    LlavaForConditionalGeneration LlavaNextForConditionalGeneration LlavaNextVideoForConditionalGeneration
    LlavaOnevision2ForConditionalGeneration LlavaOnevisionForConditionalGeneration LongcatFlashForCausalLM
    LongcatFlashNgramForCausalLM Mamba2ForCausalLM MambaForCausalLM MellumForCausalLM MiDashengLMModel
    MiMoForCausalLM MiMoV2FlashForCausalLM MiMoV2ForCausalLM MiMoV2OmniForCausalLM MiniCPM3ForCausalLM
    MiniCPMForCausalLM MiniCPMO MiniCPMV MiniCPMV4_6ForConditionalGeneration MiniCPMV4_7ForConditionalGeneration
    MiniMaxM2ForCausalLM MiniMaxM3SparseForCausalLM MiniMaxM3SparseForConditionalGeneration
    Ministral3ForCausalLM Mistral3ForConditionalGeneration MistralForCausalLM MistralLarge3ForCausalLM
    MistralModel MixtralForCausalLM ModernBertForSequenceClassification ModernBertForTokenClassification
    ModernBertModel Molmo2ForConditionalGeneration MolmoForCausalLM Moondream3ForCausalLM
    MoonshotKimiaForCausalLM MossAudioModel MossTranscribeDiarizeForConditionalGeneration MuseGlimmerForCausalLM
    MuseGlimmerForConditionalGeneration NVLM_D NanbeigeForCausalLM NemotronForCausalLM NemotronHForCausalLM
    NemotronHPuzzleForCausalLM NemotronH_Nano_Omni_Reasoning_V3 NemotronH_Nano_VL_V2 NemotronH_Omni_Reasoning_V3
    NemotronH_Super_Omni_Reasoning_V3 NemotronParseForConditionalGeneration NomicBertModel OPTForCausalLM
    Olmo2ForCausalLM Olmo3ForCausalLM OlmoForCausalLM OlmoHybridForCausalLM OlmoeForCausalLM
    OpenAIPrivacyFilterForTokenClassification OpenCUAForConditionalGeneration
    OpenPanguVLForConditionalGeneration OpenVLAForActionPrediction OpsColQwen3Model OrionForCausalLM Ovis
    Ovis2_5 Ovis2_6ForCausalLM Ovis2_6_MoeForCausalLM PaddleOCRVLForConditionalGeneration
    PaliGemmaForConditionalGeneration PanguEmbeddedForCausalLM PanguProMoEV2ForCausalLM PanguUltraMoEForCausalLM
    Param2MoEForCausalLM Phi3ForCausalLM Phi3VForCausalLM Phi4ForCausalLMV Phi4MMForCausalLM PhiForCausalLM
    PhiMoEForCausalLM PixtralForConditionalGeneration Plamo3ForCausalLM QianfanOCRForConditionalGeneration
    Qwen2AudioForConditionalGeneration Qwen2ForCausalLM Qwen2ForProcessRewardModel Qwen2ForRewardModel
    Qwen2Model Qwen2MoeForCausalLM Qwen2VLForConditionalGeneration Qwen2_5OmniForConditionalGeneration
    Qwen2_5OmniModel Qwen2_5_VLForConditionalGeneration Qwen3ASRForConditionalGeneration
    Qwen3ASRForcedAlignerForTokenClassification Qwen3ASRRealtimeGeneration Qwen3ForCausalLM Qwen3MoeForCausalLM
    Qwen3NextForCausalLM Qwen3OmniMoeForConditionalGeneration Qwen3VLForConditionalGeneration
    Qwen3VLMoeForConditionalGeneration Qwen3VLNemotronEmbedModel Qwen3_5ForCausalLM
    Qwen3_5ForConditionalGeneration Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration Qwen4ExpForCausalLM
    Qwen4ExpForConditionalGeneration RForConditionalGeneration Rnj1ForCausalLM RobertaForMaskedLM
    RobertaForSequenceClassification RobertaForTokenClassification RobertaModel SarvamMLAForCausalLM
    SarvamMoEForCausalLM SeedOssForCausalLM SiglipModel SkyworkR1VChatModel SmolLM3ForCausalLM
    SmolVLMForConditionalGeneration SolarForCausalLM StableLmForCausalLM Starcoder2ForCausalLM Step1ForCausalLM
    Step3TextForCausalLM Step3VLForConditionalGeneration Step3p5ForCausalLM Step3p7ForConditionalGeneration
    StepVLForConditionalGeneration TeleChat2ForCausalLM TeleChat3ForCausalLM TeleFLMForCausalLM Terratorch
    UltravoxModel UnlimitedOCRForCausalLM VaultGemmaForCausalLM VibeVoiceAsrForConditionalGeneration
    VoxtralForConditionalGeneration VoxtralRealtimeGeneration VoyageQwen3BidirectionalEmbedModel
    WhisperForConditionalGeneration XLMRobertaForSequenceClassification XLMRobertaForTokenClassification
    XLMRobertaModel Zamba2ForCausalLM
"""
_CLASSES = frozenset(_NAMES.split())

_LAST = {
    "Phi3SmallForCausalLM": "0.9.2", "DonutForConditionalGeneration": "0.10.2",
    "MllamaForConditionalGeneration": "0.10.2", "MotifForCausalLM": "0.10.2", "Phi4FlashForCausalLM":
    "0.10.2", "Phi4MultimodalForCausalLM": "0.12.0", "JAISLMHeadModel": "0.22.0", "BaiChuanForCausalLM":
    "0.23.0", "BaichuanForCausalLM": "0.23.0", "BambaForCausalLM": "0.23.0", "Dots1ForCausalLM": "0.23.0",
    "ErnieForSequenceClassification": "0.23.0", "ErnieForTokenClassification": "0.23.0", "ErnieModel":
    "0.23.0", "InternLM2VEForCausalLM": "0.23.0", "InternLMForCausalLM": "0.23.0", "MiniMaxForCausalLM":
    "0.23.0", "MiniMaxM1ForCausalLM": "0.23.0", "MiniMaxText01ForCausalLM": "0.23.0",
    "MiniMaxVL01ForConditionalGeneration": "0.23.0", "QWenLMHeadModel": "0.23.0",
    "QwenVLForConditionalGeneration": "0.23.0", "Tarsier2ForConditionalGeneration": "0.23.0",
    "XverseForCausalLM": "0.23.0", "AquilaForCausalLM": "0.24.0", "AquilaModel": "0.24.0",
    "AyaVisionForConditionalGeneration": "0.24.0", "Grok1ForCausalLM": "0.24.0", "Grok1ModelForCausalLM":
    "0.24.0", "MantisForConditionalGeneration": "0.24.0", "MusicFlamingoForConditionalGeneration":
    "0.24.0", "TarsierForConditionalGeneration": "0.24.0", "FuyuForCausalLM": "0.25.0",
    "PersimmonForCausalLM": "0.25.0", "TeleChatForCausalLM": "0.25.0", "OuroForCausalLM": "0.26.0",
    "Plamo2ForCausalLM": "0.26.0", "ArcticForCausalLM": "0.28.0", "ChameleonForConditionalGeneration":
    "0.28.0", "Cheers": "0.28.0", "CheersForConditionalGeneration": "0.28.0", "Fairseq2LlamaForCausalLM":
    "0.28.0", "FireRedLIDForConditionalGeneration": "0.28.0", "GritLM": "0.28.0", "HCXVisionForCausalLM":
    "0.28.0", "MPTForCausalLM": "0.28.0", "MptForCausalLM": "0.28.0", "PrithviGeoSpatialMAE": "0.28.0",
    "RWForCausalLM": "0.28.0", "StableLMEpochForCausalLM": "0.28.0",
}  # fmt: skip
"""Classes that are gone, with the last release that has them."""

_ADAPTED = ("ForSequenceClassification", "ForTokenClassification", "ForRewardModel", "RewardModel")
"""Endings of classes that vLLM makes of a model's ForCausalLM; its layers are the same."""


def known(name: str, version: str | None) -> bool:
    """Whether the class is one of this version's; without a version, of the newest that was read."""
    adapted = (name.removesuffix(ending) + "ForCausalLM" for ending in _ADAPTED if name.endswith(ending))
    if name in _CLASSES or any(base in _CLASSES for base in adapted):
        return True
    if name not in _LAST or version is None:
        return False
    try:
        return Version(Version(version).base_version) <= Version(_LAST[name])
    except InvalidVersion:
        return False
