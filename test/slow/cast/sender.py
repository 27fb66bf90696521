"""Casts with Debian's pychromecast, and says what it saw, a line of JSON for each step."""
import json, select, socket, ssl, sys, threading, time
import pychromecast


class OneAtATime(ssl.SSLSocket):
    """pychromecast reads in one thread and writes in another, which OpenSSL forbids of one connection: "bad record mac".
    What is read has come, so that nobody who writes waits for a reader who waits."""

    @property
    def turn(self):
        return self.__dict__.setdefault("_turn", threading.Lock())

    def recv(self, *args):
        patience = self.gettimeout()
        while True:
            with self.turn:
                self.setblocking(False)
                try:
                    return super().recv(*args)
                except ssl.SSLWantReadError:
                    pass
                finally:
                    self.settimeout(patience)
            if not select.select([self], [], [], patience)[0]:
                raise socket.timeout("nothing came")

    def sendall(self, *args):
        with self.turn:
            return super().sendall(*args)


ssl.SSLContext.sslsocket_class = OneAtATime


def say(**what):
    print(json.dumps(what), flush=True)


def until(what, holds):
    for _ in range(100):
        if holds():
            return
        time.sleep(0.05)
    raise SystemExit("in vain until " + what)


found, browser = pychromecast.get_listed_chromecasts(friendly_names=[sys.argv[1]], discovery_timeout=10)
cast = found[0]
cast.wait(timeout=10)
say(model=cast.model_name, uuid=cast.uuid.hex, idle=cast.is_idle, standby=cast.status.is_stand_by)
media = cast.media_controller
media.play_media("http://192.0.2.1/a.mp4", "video/mp4", title="A film")
media.block_until_active(timeout=10)
until("it plays", lambda: media.status.player_state == "PLAYING")
say(title=media.status.title, duration=media.status.duration, seekable=media.status.supports_seek)
media.pause()
until("it is paused", lambda: media.status.player_state == "PAUSED")
media.seek(30)
until("it is there", lambda: media.status.current_time >= 30)
cast.set_volume(0.3)
until("it is quieter", lambda: abs(cast.status.volume_level - 0.3) < 0.001)
cast.set_volume_muted(True)
until("it is silent", lambda: cast.status.volume_muted)
cast.start_app("233637DE")
until("the app is there", lambda: cast.app_display_name == "YouTube")
try:
    cast.start_app("00000000")
    time.sleep(0.5)
except pychromecast.error.PyChromecastError as error:
    say(refused=type(error).__name__)
cast.quit_app()
until("it idles", lambda: cast.is_idle)
say(idle=cast.is_idle)
cast.disconnect(timeout=5)
browser.stop_discovery()
