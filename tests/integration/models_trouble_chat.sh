#!/bin/bash
api=openai-completions
. "$(dirname "$0")/lib_trouble.sh"
