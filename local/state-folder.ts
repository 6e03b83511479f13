import { chmodSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeFileAtomic } from '#lib/files/write-file';

/** Paths of the files of one `vmcp up`, all below one folder that only its owner can read. */
export interface StateFolder {
  /** Absolute path, by default `.vmcp` in the working directory. */
  path: string;
  lock: string;
  /** Records the manifest folder that runs now or ran last. */
  lastFolder: string;
  /** Uids and ports that stay the same across restarts. */
  allocations: string;
  /** Key of the hashes in the names of secret files. */
  digestKey: string;
  /** Started processes, so that the next vmcp can end those of a killed one. */
  children: string;
  /** Container engine and labels, so that the next vmcp can remove the containers of a killed one. */
  containers: string;
  /** Status that `vmcp status` reads. */
  status: string;
  logs: string;
  /** Log of `vmcp up --detach` itself. */
  ownLog: string;
  /** Run configurations and secret files, by namespace. */
  run: string;
  /** Generated secrets, by namespace and server. */
  generated: string;
  /** Keys and databases of authorization servers, by namespace and server: a restart logs no user out. */
  logins: string;
  /** Logins of `vmcp token`. */
  developmentLogins: string;
  /** OAuth clients registered by `vmcp try`, by endpoint. */
  clients: string;
  /** URL of the management API while it runs. */
  managementAddress: string;
  /** Token of the management API, new at each start. */
  managementToken: string;
  /** Audit log of the management API. */
  managementAudit: string;
}

/** Returns all paths, whether the files exist or not. */
export function locateState(path = '.vmcp'): StateFolder {
  const absolute = resolve(path);
  const inside = (name: string): string => join(absolute, name);
  return {
    path: absolute,
    lock: inside('lock.json'),
    lastFolder: inside('folder'),
    allocations: inside('allotments.json'),
    digestKey: inside('digest.key'),
    children: inside('children.json'),
    containers: inside('containers.json'),
    status: inside('status.json'),
    logs: inside('logs'),
    ownLog: inside('logs/vmcp.log'),
    run: inside('run'),
    generated: inside('generated'),
    logins: inside('logins'),
    developmentLogins: inside('development-logins'),
    clients: inside('clients'),
    managementAddress: inside('management-address'),
    managementToken: inside('management-token'),
    managementAudit: inside('logs/management-audit.log'),
  };
}

/** Creates the folder, or removes the permissions of other users from it. The folder excludes itself from version control. */
export function openState(state: StateFolder): void {
  for (const path of [state.path, state.logs, state.run, state.generated, state.logins])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(state.path, 0o700);
  writeFileAtomic(join(state.path, '.gitignore'), '*\n');
}
