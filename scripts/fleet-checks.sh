# shellcheck shell=bash disable=SC2154
# Sourced by the tests of many processes on one store: scripts/test-slurm, scripts/test-ray, and scripts/test-s3-load.
# The caller sets $work, a temporary folder, and $tengen, the binary.
step() { printf '%s == %s\n' "$(date +%T)" "$*" >&2; }
run() { echo "+ $*" >&2; "$@"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# Finds the binary: $TENGEN, or the release build.
find_tengen() {
  tengen=$(realpath "${TENGEN:-${CARGO_TARGET_DIR:-target}/release/tengen}")
  [ -x "$tengen" ] || fail "$tengen not found; build it with 'cargo build --release', or set TENGEN"
}

# The shards that the folder $1 holds now.
list_shards() { find "$1/games" -name '*.parquet' -printf '%f\n' 2>/dev/null | sort; }
# Those that were merged into larger ones.
list_merged() { grep -rhoE '[^/"]+\.parquet' "$1/changes" 2>/dev/null || true; }

# Notes every shard that the folder $1 ever holds in $work/seen, until stop_watching.
watch_shards() {
  : >"$work/seen"
  while :; do
    list_shards "$@" | sort -u -o "$work/seen" "$work/seen" - || true
    sleep 2
  done &
  watcher=$!
}
watcher=
stop_watching() { [ -z "$watcher" ] || { kill "$watcher" && wait "$watcher"; } 2>/dev/null || true; watcher=; }

# Fails if a shard that was seen is neither in the folder $1 any more nor in a larger one it was merged into.
check_shards() {
  local now=$work/now
  [ -s "$work/seen" ] || fail "no shards were seen during the run"
  { list_shards "$@"; list_merged "$@"; } | sort -u >"$now"
  local lost
  lost=$(comm -23 "$work/seen" "$now")
  [ -z "$lost" ] || fail "games were published and are gone: $lost"
  echo "all $(wc -l <"$work/seen") shards that were seen during the run are still there" >&2
}

# Fails unless the promotions in the folder $1 are numbered 0, 1, 2 … without a gap.
check_promotions() {
  local count=0 name
  for name in $(list_promotions "$@"); do
    [ "$name" = "$(printf %06d.json "$count")" ] || fail "found promotion $name in place of number $count"
    count=$((count + 1))
  done
  [ "$count" -gt 1 ] || fail "nothing was promoted"
  echo "$count promotions, numbered without a gap" >&2
}
list_promotions() { find "$1/promotions" -name '*.json' -printf '%f\n' | sort; }

# `field NAME…`: a value in the JSON object on standard input, by its path.
field() { python3 -c 'import json, sys; v = json.load(sys.stdin); [v := v[k] for k in sys.argv[1:]]; print(v)' "$@"; }

# How many self-play games store $1 holds; 0 if there is no store yet.
games() { "$tengen" data stats "$1" --json 2>/dev/null | field games games 2>/dev/null || echo 0; }

# Waits until store $1 holds $2 self-play games, at most $3 seconds.
wait_for_games() {
  local deadline=$((SECONDS + $3))
  until [ "$(games "$1")" -ge "$2" ]; do
    [ $SECONDS -lt $deadline ] || fail "$1 has only $(games "$1") games after $3 s; expected $2"
    sleep 1
  done
}

# Checks the run that ended in store $1: every game whole and none twice, and a champion of 5x5 that plays as it should.
check_run() {
  run "$tengen" data verify "$1"
  run "$tengen" verify --model "store:$1" --board 5x5
}
