#!/bin/bash
# The demo works, also from another directory, and fails when the tools are dead.
. "$(dirname "$0")/lib.sh"
demo=$PI_SOURCE_DIR/cli/demo/run

run demo "$demo" "$pi"
code_is 0
holds out 'FAIL  4'
holds out 'ok    4 is IV'
holds out '+4 IV'
holds out 'yolo'
holds err 'bash $ ./check'
holds err 'edit roman'
if ls -d "$TMPDIR"/pi-demo.* 2>/dev/null; then fail 'the demo left its directory'; fi

# A stand-in that runs no tools.
printf '#!/bin/sh\nexit 0\n' >dead
chmod +x dead
run 'dead tools' "$demo" "$PWD/dead"
code_is 1
done_testing
