"""A second engine that is launched, as small as one can be: SGLang 0.5 as far as one deployment goes, by a name of its own."""
