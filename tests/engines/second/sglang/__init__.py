"""A second engine, as small as one can be: SGLang 0.5 as far as one deployment goes."""
