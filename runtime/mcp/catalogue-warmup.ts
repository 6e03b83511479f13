import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Services } from '#runtime/services';
import type { Asker } from './aggregate/asker.ts';
import { LIST_SPECS, type ListKind } from './aggregate/list-kinds.ts';
import { ask } from './backends/ask.ts';
import { ownInitialize, ownMeta, modernHeaders } from './backends/probe.ts';
import { LATEST_LEGACY_REVISION, type Era } from './era.ts';
import { endBackendSessions } from './sessions/end-backend-sessions.ts';
import { prepareEntries } from './route/render-entries.ts';
import { newSession, type Session } from './sessions/session.ts';
import { sessionAsker } from './legacy/legacy-request.ts';

const KINDS: readonly ListKind[] = ['tools', 'prompts', 'resources', 'templates'];
const GATHER = 100;

export interface CatalogueWarmup {
  look(): void;
  close(): void;
}

export function createCatalogueWarmup(services: () => Services): CatalogueWarmup {
  let timer: NodeJS.Timeout | undefined;
  let session: Session | undefined;
  let running = false;

  const list = async (asker: Asker): Promise<void> => {
    const now = services();
    for (const kind of KINDS) {
      prepareEntries(kind, await now.catalogues.list(now.catalogues.of(asker), kind, asker), now);
    }
  };
  const look = async (): Promise<void> => {
    timer = undefined;
    if (running) {
      schedule();
      return;
    }
    running = true;
    const now = services();
    const speak = (era: Era) =>
      now.backends.all.some(({ health }) => health.phase === 'ready' && health.eras?.has(era));
    session ??= ownSession(now.version);
    try {
      if (speak('legacy')) await list(sessionAsker(session, ANONYMOUS, now));
      if (speak('modern')) await list(ownModernAsker(now));
    } catch (error) {
      now.log.debug('the catalogue warm-up failed', { error });
    } finally {
      running = false;
    }
  };
  const schedule = (): void => {
    timer ??= setTimeout(() => void look(), GATHER).unref();
  };
  return {
    look: schedule,
    close() {
      clearTimeout(timer);
      if (!session) return;
      session.isOver = true;
      endBackendSessions(session, ANONYMOUS, services().backends);
    },
  };
}

/** No store has this session, and no client can name it. */
function ownSession(version: string): Session {
  const profile = {
    paramsText: ownInitialize(version),
    capabilities: '{}',
    revision: LATEST_LEGACY_REVISION,
    clientName: 'vmcp',
    clientVersion: version,
  };
  const session = newSession({ id: '', principal: '', countedFor: '', profile, openedAt: 0, lastUsed: 0 });
  session.initialized = true;
  return session;
}

function ownModernAsker({ version, config }: Services): Asker {
  return {
    era: 'modern',
    identity: ANONYMOUS,
    capabilities: '{}',
    ask(backend, kind, cursor) {
      const { method } = LIST_SPECS[kind];
      const at = cursor === undefined ? '' : `"cursor":${JSON.stringify(cursor)},`;
      return ask(backend, {
        identity: ANONYMOUS,
        era: 'modern',
        method,
        paramsText: `{${at}"_meta":${ownMeta(version)}}`,
        headers: modernHeaders(method),
        deadline: config.limits.list_deadline,
      });
    },
  };
}
