#!/bin/sh
# Makes the two recordings that stand for every recording of the sample:
# recordings/clock.mp4, an hour of picture with the time burnt in, so that one can
# see that a jump to 00:12:34 shows 00:12:34; and recordings/ticks.m4a, an hour of
# sound with a soft tick every ten seconds and a lower one every minute.
# Needs ffmpeg with libx264, drawtext, and the DejaVu fonts. The result
# depends on the ffmpeg version, so the files themselves are in the repository.
set -eu
cd "$(dirname "$0")/recordings"

font=${FONT:-/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf}

# One frame a second, a key frame every ten: a seek decodes at most ten frames.
ffmpeg -hide_banner -loglevel error -y -bitexact \
	-f lavfi -i "color=c=0x16324f:s=320x180:r=1:d=3600" \
	-vf "drawtext=fontfile=$font:fontsize=54:fontcolor=white:x=(w-tw)/2:y=(h-th)/2:text='%{pts\:gmtime\:0\:%H\\\\\:%M\\\\\:%S}'" \
	-c:v libx264 -preset veryslow -tune stillimage -crf 41 -g 10 -keyint_min 10 -sc_threshold 0 \
	-pix_fmt yuv420p -map_metadata -1 -flags:v +bitexact -movflags +faststart clock.mp4

# A tick is a short decaying sine; the minute's tick is an octave lower.
ffmpeg -hide_banner -loglevel error -y -bitexact \
	-f lavfi -i "aevalsrc='if(lt(mod(t,10),0.2),0.25*sin(2*PI*if(lt(mod(t,60),1),440,880)*t)*exp(-25*mod(t,10)),0)':s=8000:d=3600" \
	-c:a aac -b:a 8k -ac 1 \
	-map_metadata -1 -flags:a +bitexact -movflags +faststart ticks.m4a

ls -l clock.mp4 ticks.m4a
