#!/bin/bash
api=anthropic-messages
. "$(dirname "$0")/lib_trouble.sh"
