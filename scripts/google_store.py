"""Serves a bucket with the calls of Google Cloud Storage's XML API that a store uses. Usage: google_store.py PORT

That API is the same as S3's except for three things: the header that makes a put conditional on a missing object
(x-goog-if-generation-match: 0; in S3, If-None-Match: *), bearer tokens, and object generations. This server is moto, a
server for the S3 protocol, with these three translated. It replaces an emulator of Google's service, because
gcp-storage-emulator 2026.7.19 answers 501 to HEAD, DELETE, and list calls of the XML API and overwrites objects despite
the header.
"""

import sys

from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

SIGNED_FOR_S3 = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
moto = DomainDispatcherApplication(create_backend_app)


def google(environ, start_response):
    if not environ.get("HTTP_AUTHORIZATION", "").startswith("Bearer "):
        start_response("401 Unauthorized", [("Content-Length", "0")])
        return []
    environ["HTTP_AUTHORIZATION"] = SIGNED_FOR_S3
    wanted = environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None)
    if wanted not in (None, "0"):
        start_response("501 Not Implemented", [("Content-Length", "0")])
        return []
    if wanted == "0":
        environ["HTTP_IF_NONE_MATCH"] = "*"

    def start(status, headers, *rest):
        etag = dict((name.lower(), value) for name, value in headers).get("etag")
        if etag:
            generation = int(etag.strip('"')[:12], 16)
            headers = [*headers, ("x-goog-generation", str(generation))]
        return start_response(status, headers, *rest)

    return moto(environ, start)


run_simple("127.0.0.1", int(sys.argv[1]), google, threaded=True, request_handler=MotoRequestHandler)
