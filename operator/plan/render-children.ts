import type { Manifest, World } from '../world.ts';
import { runtimeChild } from './child-names.ts';
import type { Child, Rendered } from './outcome.ts';
import { renderConfigMap } from './render-config-map.ts';
import { renderRuntimeDeployment } from './render-deployment.ts';
import { listenOf, type ServerSpec } from './render-run-config.ts';
import { renderServiceAccount } from './render-service-account.ts';
import { renderRuntimeService } from './render-service.ts';

/** What runs a VirtualMCPServer: one process on a machine, or the objects of one runtime in a cluster. */
export function renderChildren(manifest: Manifest, spec: ServerSpec, rendered: Rendered, world: World): Child[] {
  const { platform } = world;
  if (platform.mode === 'local') {
    const { host, port, private_port: privatePort } = listenOf(manifest.metadata.name, spec, world);
    return [
      { platform: 'local', role: 'runtime', name: runtimeChild(manifest.metadata.name), host, port, privatePort },
    ];
  }
  const objects = [
    renderConfigMap(manifest, rendered, world),
    ...(spec.serviceAccount === undefined ? [renderServiceAccount(manifest, world)] : []),
    renderRuntimeDeployment(manifest, spec, rendered, platform.runtimeImage, world),
    renderRuntimeService(manifest, spec, world),
  ];
  return objects.map((object) => ({ platform: 'cluster', object }));
}
