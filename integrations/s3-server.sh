# Sourced. Starts an S3-compatible server on the loopback interface, and stops it when the shell ends in any way.
#   start_s3_server BUCKET    sets `scratch`, a directory whose `log` has every request, and what the clients' crates read
# The server waits for $S3_DELAY_MS, 0 if unset, before it answers a request.

scratch=$(mktemp -d)
server_pid=''
stop_s3_server() {
  [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap stop_s3_server EXIT

start_s3_server() {
  # One at a time.
  [ -z "$server_pid" ] || kill "$server_pid"
  # The system's, or one beside the build.
  local server tools port
  server=$(command -v moto_server) || {
    tools=${CARGO_TARGET_DIR:-$PWD/../../target}/moto
    server=$tools/bin/moto_server
    [ -x "$server" ] || { python3 -m venv "$tools" && "$tools/bin/python3" -m pip install --quiet 'moto[server]>=5.2,<6'; }
  }
  export AWS_ACCESS_KEY_ID=loopback AWS_SECRET_ACCESS_KEY=loopback AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
  listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
  port=$((20000 + RANDOM % 20000))
  while listening "$port"; do port=$((port + 1)); done
  # It checks the condition of a put, and then puts: in one step, as S3 does, only under a lock.
  cat >"$scratch/sitecustomize.py" <<'PYTHON'
import os
import time
from threading import Lock
from moto.s3.responses import S3Response
from werkzeug.serving import WSGIRequestHandler

put, lock = S3Response.put_object, Lock()


def put_object(self):
    with lock:
        return put(self)


S3Response.put_object = put_object
answer = WSGIRequestHandler.run_wsgi


def run_wsgi(self):
    time.sleep(int(os.environ.get("S3_DELAY_MS", 0)) / 1000)
    answer(self)


WSGIRequestHandler.run_wsgi = run_wsgi
PYTHON
  PYTHONPATH=$scratch "$server" -H 127.0.0.1 -p "$port" >"$scratch/log" 2>&1 &
  server_pid=$!
  for _ in {1..600}; do
    ! listening "$port" || break
    kill -0 "$server_pid"
    sleep 0.1
  done
  export AWS_ENDPOINT=http://127.0.0.1:$port
  curl --silent --show-error --fail --request PUT "$AWS_ENDPOINT/$1"
}
