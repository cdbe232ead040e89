"""How an engine is started and held here."""
