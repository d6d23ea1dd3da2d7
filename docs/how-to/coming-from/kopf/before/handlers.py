"""The operator of Notebooks, written with Kopf."""

import kopf
import kubernetes
from kubernetes.client.rest import ApiException

IMAGE = "busybox:1.36"


@kopf.on.startup()
def connect(**_):
    kubernetes.config.load_incluster_config()


@kopf.index("configmaps", labels={"toolbox": kopf.PRESENT})
def toolboxes(namespace, name, body, **_):
    return {namespace: (name, body.get("data", {}).get("tool"))}


def settings_of(name, spec, tools):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-settings"},
        "data": {"owner": spec["owner"], "tools": " ".join(tools)},
    }


def server_of(name, spec):
    labels = {"notebook": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 0 if spec.get("paused") else 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [{
                        "name": "notebook",
                        "image": spec.get("image", IMAGE),
                        "command": ["httpd", "-f", "-p", "8080"],
                        "envFrom": [{"configMapRef": {"name": f"{name}-settings"}}],
                    }],
                },
            },
        },
    }


def archive_of(name):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{name}-archive"},
        "spec": {
            "backoffLimit": 2,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{
                        "name": "archive",
                        "image": IMAGE,
                        "command": ["echo", f"archive of {name}"],
                    }],
                },
            },
        },
    }


def tools_in(toolboxes, namespace):
    return [tool for _, tool in sorted(toolboxes.get(namespace, [])) if tool]


def ensure(create, patch, namespace, body):
    try:
        create(namespace, body)
    except ApiException as error:
        if error.status != 409:
            raise
        patch(body["metadata"]["name"], namespace, body)


def bring_up(name, namespace, spec, tools):
    core = kubernetes.client.CoreV1Api()
    apps = kubernetes.client.AppsV1Api()
    settings = settings_of(name, spec, tools)
    server = server_of(name, spec)
    kopf.adopt([settings, server])
    ensure(core.create_namespaced_config_map, core.patch_namespaced_config_map, namespace, settings)
    ensure(apps.create_namespaced_deployment, apps.patch_namespaced_deployment, namespace, server)


@kopf.on.create("notebooks")
@kopf.on.update("notebooks", field="spec")
@kopf.on.resume("notebooks")
def changed(name, namespace, spec, toolboxes, patch, **_):
    tools = tools_in(toolboxes, namespace)
    bring_up(name, namespace, spec, tools)
    patch.status["tools"] = tools


# Nobody calls the handlers above when a toolbox comes or a child is edited.
@kopf.timer("notebooks", interval=30)
def look_again(name, namespace, spec, toolboxes, patch, **_):
    tools = tools_in(toolboxes, namespace)
    bring_up(name, namespace, spec, tools)
    patch.status["tools"] = tools


@kopf.on.event("deployments", labels={"notebook": kopf.PRESENT})
def server_changed(type, namespace, labels, spec, status, **_):
    if type == "DELETED":
        phase = "Starting"
    elif spec.get("replicas") == 0:
        phase = "Paused"
    elif status.get("readyReplicas"):
        phase = "Running"
    else:
        phase = "Starting"
    try:
        kubernetes.client.CustomObjectsApi().patch_namespaced_custom_object_status(
            "example.org", "v1", namespace, "notebooks", labels["notebook"],
            {"status": {"phase": phase}},
        )
    except ApiException as error:
        if error.status != 404:
            raise


@kopf.on.delete("notebooks")
def archive(name, namespace, **_):
    batch = kubernetes.client.BatchV1Api()
    body = archive_of(name)
    kopf.adopt(body)
    try:
        batch.create_namespaced_job(namespace, body)
    except ApiException as error:
        if error.status != 409:
            raise
    job = batch.read_namespaced_job_status(f"{name}-archive", namespace)
    if not job.status.succeeded:
        raise kopf.TemporaryError("the archive is not written yet", delay=5)
