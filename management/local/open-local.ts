import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { codeOf, writeFileAtomic } from '#lib/files/write-file';
import { openLogFile } from '#local/log-file';
import { ManifestFolder } from '#local/manifest-folder';
import { failureText, problemOf } from '../problem.ts';
import { limitRate } from '../limit-rate.ts';
import { listen, type Listening } from '../listen.ts';
import { OPERATIONS } from '../operations/table.ts';
import { renderAuditLine, Serving } from '../serving.ts';
import { createRoutes } from '../routes.ts';
import type { Services } from '../services.ts';
import { localAuthenticator } from './local-authenticator.ts';
import { type LocalDeps, localServices } from './local-services.ts';

const FIRST_PORT = 4485;
const STEP = 10;
const PLACES = 500;

export interface OpenManagement {
  /** URL without the base path. */
  url: string;
  close(): Promise<void>;
}

/** Uses the first free loopback port of 4485, 4495, 4505, …. Only the owner can read the files with the URL and token. */
export async function openLocalManagement(place: LocalDeps): Promise<OpenManagement> {
  const { state, onFailure } = place;
  const token = randomBytes(32).toString('base64url');
  const audit = openLogFile(state.managementAudit);
  audit.on('error', (error) => onFailure(`the audit log cannot be written: ${error.message}`));
  const limits = { now: () => performance.now() };
  const servicesOf = localServices(place);
  let port = 0;
  const serving = new Serving({
    authenticator: localAuthenticator(token, () => port),
    servicesOf,
    addresses: limitRate({ burst: 400, perSecond: 100, ...limits }),
    callers: limitRate({ burst: 400, perSecond: 100, ...limits }),
    onChange: (change) => void audit.write(renderAuditLine(change, new Date())),
    onFailure: (request, problem) => onFailure(failureText(request, problem)),
  });
  await resumeWork({ ...place, servicesOf });
  const listening = await listenOnNext(createRoutes(OPERATIONS, serving));
  port = listening.port;
  const url = `http://127.0.0.1:${port}`;
  writeFileAtomic(state.managementToken, token);
  writeFileAtomic(state.managementAddress, url);
  return {
    url,
    async close() {
      for (const path of [state.managementAddress, state.managementToken]) rmSync(path, { force: true });
      await listening.close();
      await new Promise<void>((resolve) => void audit.end(resolve));
    },
  };
}

async function listenOnNext(answer: Parameters<typeof listen>[0]): Promise<Listening> {
  for (let place = 0; place < PLACES; place += 1) {
    try {
      return await listen(answer, { host: '127.0.0.1', port: FIRST_PORT + STEP * place });
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE') throw error;
    }
  }
  throw new Error(`no port for the management API is free: stop what uses ${FIRST_PORT}, ${FIRST_PORT + STEP}, …`);
}

interface LeftWork {
  folder: string;
  servicesOf: (namespace: string) => Pick<Services, 'operations'>;
  /** The text holds no secret. */
  onFailure: (text: string) => void;
}

/** Resumes namespaces with resources in the folder. In others only the end has to be recorded, which the next request does. */
async function resumeWork({ folder, servicesOf, onFailure }: LeftWork): Promise<void> {
  try {
    const { manifests } = new ManifestFolder(folder).read();
    for (const namespace of new Set(manifests.map(({ metadata }) => metadata.namespace)))
      await servicesOf(namespace).operations.resume();
  } catch (problem) {
    onFailure(`work that was left undone is not taken up: ${problemOf(problem).message}`);
  }
}
