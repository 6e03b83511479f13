import { chmodSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeFileAtomic } from '#lib/files/write-file';

/** Only the owner can read the folder. */
export interface StateFolder {
  /** Absolute; by default `.vmcp` in the working directory. */
  path: string;
  lock: string;
  /** The manifest folder that runs now or ran last. */
  lastFolder: string;
  /** Uids and ports that stay the same across restarts. */
  allocations: string;
  /** Hashes the names of secret files. */
  digestKey: string;
  /** The next vmcp ends the processes of a killed one. */
  children: string;
  /** Holds engine and labels: the next vmcp removes the containers of a killed one. */
  containers: string;
  /** `vmcp status` reads it. */
  status: string;
  logs: string;
  /** Log of `vmcp up --detach` itself. */
  ownLog: string;
  run: string;
  generated: string;
  /** Authorization servers' data by namespace and server: a restart logs no user out. */
  logins: string;
  /** Logins of `vmcp token`. */
  developmentLogins: string;
  /** Clients registered by `vmcp try`, by endpoint. */
  clients: string;
  managementAddress: string;
  /** New at each start. */
  managementToken: string;
  managementAudit: string;
}

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

/** Removes the permissions of other users. The folder excludes itself from version control. */
export function openState(state: StateFolder): void {
  for (const path of [state.path, state.logs, state.run, state.generated, state.logins])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(state.path, 0o700);
  writeFileAtomic(join(state.path, '.gitignore'), '*\n');
}
