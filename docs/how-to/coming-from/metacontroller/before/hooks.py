"""The webhooks of Caches, which Metacontroller asks what there should be."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def service(parent):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": parent["metadata"]["name"]},
        "spec": {
            "clusterIP": "None",
            "selector": {"controller-uid": parent["metadata"]["uid"]},
            "ports": [{"name": "http", "port": 8080}],
        },
    }


def pod(parent, index, size):
    name = parent["metadata"]["name"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-{index}"},
        "spec": {
            "hostname": f"{name}-{index}",
            "subdomain": name,
            "containers": [{
                "name": "cache",
                "image": "busybox:1.36",
                "command": ["httpd", "-f", "-p", "8080"],
                "env": [{"name": "SIZE", "value": size}],
                "readinessProbe": {"tcpSocket": {"port": 8080}},
            }],
        },
    }


def is_ready(pod):
    conditions = pod.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def settings_of(request):
    return next(iter(request["related"].get("ConfigMap.v1", {}).values()), None)


def sync(request):
    parent = request["parent"]
    pods = request["children"]["Pod.v1"]
    settings = settings_of(request)
    if not settings:
        # An empty answer would delete all children, so answer with what there is.
        return {
            "status": {"message": "the settings are missing"},
            "children": [child for group in request["children"].values() for child in group.values()],
        }
    size = settings["data"]["size"]
    replicas = parent["spec"].get("replicas", 1)
    return {
        "status": {"ready": sum(map(is_ready, pods.values())), "size": size},
        "children": [service(parent)] + [pod(parent, i, size) for i in range(replicas)],
    }


def customize(request):
    parent = request["parent"]
    return {
        "relatedResources": [{
            "apiVersion": "v1",
            "resource": "configmaps",
            "namespace": parent["metadata"]["namespace"],
            "names": [parent["spec"]["settings"]],
        }],
    }


def finalize(request):
    pods = request["children"]["Pod.v1"]
    # Keep the Service until the last Pod is deleted.
    children = [service(request["parent"])] if pods else []
    return {"status": {"ready": 0}, "children": children, "finalized": not children}


HOOKS = {"/sync": sync, "/customize": customize, "/finalize": finalize}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers["Content-Length"])
        answer = HOOKS[self.path](json.loads(self.rfile.read(length)))
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8080), Handler).serve_forever()
