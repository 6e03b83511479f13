import { chmodSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeFileAtomic } from '#lib/files/write-file';

/** Paths of what one `vmcp up` keeps: all of it below one folder, which only its owner may read. */
export interface StateFolder {
  /** Absolute path, by default `.vmcp` in the working directory. */
  path: string;
  lock: string;
  /** The folder that runs here, or ran last. */
  lastFolder: string;
  /** Identities and ports that stay the same from start to start. */
  allotments: string;
  /** Key of the hashes that name secret files. */
  digestKey: string;
  /** Processes started, so that those of a killed predecessor can be ended. */
  children: string;
  /** By which engine containers may run, and how they are labelled: those of a killed predecessor are ended. */
  containers: string;
  /** What `vmcp status` reads. */
  status: string;
  logs: string;
  /** Log of `vmcp up --detach` itself. */
  ownLog: string;
  /** Run configurations and secret files, by namespace. */
  run: string;
  /** Secrets that are made here, by namespace and server. */
  generated: string;
  /** Keys and databases of authorization servers, by namespace and server: a restart logs nobody out. */
  logins: string;
  /** Logins of `vmcp token`. */
  developmentLogins: string;
  /** As what `vmcp try` registered, by endpoint. */
  clients: string;
  /** URL of the management API while it serves. */
  managementAddress: string;
  /** Token that it asks for, made at each start. */
  managementToken: string;
  /** Its audit log. */
  managementAudit: string;
}

/** Where everything is, whether it is there or not. */
export function locateState(path = '.vmcp'): StateFolder {
  const absolute = resolve(path);
  const inside = (name: string): string => join(absolute, name);
  return {
    path: absolute,
    lock: inside('lock.json'),
    lastFolder: inside('folder'),
    allotments: inside('allotments.json'),
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

/** Makes the folder, or closes one that others may read. It keeps itself out of version control. */
export function openState(state: StateFolder): void {
  for (const path of [state.path, state.logs, state.run, state.generated, state.logins])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(state.path, 0o700);
  writeFileAtomic(join(state.path, '.gitignore'), '*\n');
}
