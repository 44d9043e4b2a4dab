"""Language nodes: prompts, vision-language models, their adapters, and the parsing of answers."""
