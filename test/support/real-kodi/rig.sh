#!/usr/bin/env bash
# One Kodi in a network of its own. Started by real-kodi.ts with its stdin held open: when that ends, however it ends,
# everything that was started here ends too, and nothing stays behind.
# Usage: rig.sh NAME SUBNET FOLDER DISPLAY KODI; then a line `start`, `kill PID`, `gmediarender TITLE` or `rygel TITLE` at a time.
set -u
name=$1 subnet=$2 folder=$3 display=$4 kodi=$5

# The name is the lock: who made the namespace has the subnet.
ip netns add "$name" 2>/dev/null || { echo taken; exit 3; }

clean() {
  trap '' EXIT INT TERM HUP
  for round in $(seq 1 40); do
    pids=$(ip netns pids "$name")
    [ -z "$pids" ] && break
    # shellcheck disable=SC2086
    if [ "$round" -lt 5 ]; then kill $pids; else kill -9 $pids; fi 2>/dev/null
    sleep 0.1
  done
  ip link del "$name" 2>/dev/null
  ip netns del "$name"
  rm -rf "$folder"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

inside() { exec ip netns exec "$name" "$@" </dev/null; }

set -e
ip link add "$name" type veth peer name eth0 netns "$name"
ip addr add "$subnet.1/24" dev "$name"
ip link set "$name" up
ip -n "$name" addr add "$subnet.2/24" dev eth0
ip -n "$name" link set eth0 up
ip -n "$name" link set lo up
ip -n "$name" route add default via "$subnet.1"
set +e

export HOME=$folder XDG_RUNTIME_DIR=$folder DBUS_SYSTEM_BUS_ADDRESS=unix:path=$folder/bus
(inside dbus-daemon --config-file="$folder/dbus.conf" --nofork) >"$folder/dbus.log" 2>&1 &
# Small: nothing here has a graphics card, and Kodi draws what plays as often as it can.
(inside Xvfb ":$display" -screen 0 640x360x24 -nolisten tcp) >"$folder/x.log" 2>&1 &
# Without a sound sink playback never advances.
(inside pulseaudio -n --daemonize=no --exit-idle-time=-1 -L "module-null-sink rate=48000" \
  -L "module-native-protocol-unix auth-anonymous=1 socket=$folder/pulse.sock") >"$folder/pulse.log" 2>&1 &
for _ in $(seq 1 100); do [ -S "$folder/bus" ] && break; sleep 0.05; done
# avahi runs once per pid file, hence a /run of its own.
(inside unshare -m sh -c "mkdir -p /run/avahi-daemon; mount -t tmpfs t /run/avahi-daemon; \
  exec avahi-daemon -f $folder/avahi.conf --no-drop-root --no-chroot --no-rlimits") >"$folder/avahi.log" 2>&1 &
for _ in $(seq 1 100); do [ -S "/tmp/.X11-unix/X$display" ] && [ -S "$folder/pulse.sock" ] && break; sleep 0.05; done

start() {
  (
    # Kodi does not ignore SIGPIPE, and died of it (status 141) where a client had left.
    trap '' PIPE
    (DISPLAY=":$display" PULSE_SERVER="unix:$folder/pulse.sock" KODI_AE_SINK=PULSE LIBGL_ALWAYS_SOFTWARE=1 \
      inside "$kodi" --standalone) >"$folder/kodi.log" 2>&1 &
    echo "pid $!"
    wait $!
    echo "ended $?"
  ) 2>/dev/null &
}

# Renderers in the same network: the one with the id that it is given, the other with one of its own, and at a port of its own.
gmediarender() {
  (PULSE_SERVER="unix:$folder/pulse.sock" inside gmediarender -I eth0 -p 49494 -f "$1" \
    -u 7a617064-0000-4000-8000-000000000001 --gstout-audiosink=pulsesink --gstout-videosink=fakesink \
    --gstout-initial-volume-db=-20) >"$folder/gmediarender.log" 2>&1 &
}
rygel() {
  printf '[general]\nupnp-enabled=true\ninterface=eth0\nenable-transcoding=false\n[Playbin]\nenabled=true\ntitle=%s\n' "$1" >"$folder/rygel.conf"
  (DISPLAY=":$display" PULSE_SERVER="unix:$folder/pulse.sock" XDG_CONFIG_HOME="$folder" \
    inside dbus-run-session -- rygel -c "$folder/rygel.conf" -n eth0 -d MediaExport) >"$folder/rygel.log" 2>&1 &
}

echo up
while read -r command argument; do
  case $command in
    start) start ;;
    kill) kill -9 "$argument" ;;
    gmediarender | rygel) "$command" "$argument" ;;
  esac
done
