import type { ServerNotifier } from '@modelcontextprotocol/server';

export const WATCHED_URI = 'test://watched-resource';

/** State that all sessions and requests of one fixture share, and the listeners for its changes. */
export interface ServerState {
  readonly extraTool: boolean;
  readonly extraPrompt: boolean;
  readonly watchedContent: string;
  /** Lists everything, but refuses each call: reveals a gateway that routes to the wrong backend. */
  readonly refusesCalls: boolean;
  toggleTool(): void;
  togglePrompt(): void;
  updateResource(content: string): void;
  /** @returns a function that stops listening */
  listen(notifier: ServerNotifier): () => void;
}

export function createServerState({ refusesCalls }: { refusesCalls: boolean }): ServerState {
  const listeners = new Set<ServerNotifier>();
  const tell = (change: (notifier: ServerNotifier) => void) => {
    for (const listener of listeners) change(listener);
  };
  let extraTool = false;
  let extraPrompt = false;
  let watchedContent = 'Watched resource content';
  return {
    refusesCalls,
    get extraTool() {
      return extraTool;
    },
    get extraPrompt() {
      return extraPrompt;
    },
    get watchedContent() {
      return watchedContent;
    },
    toggleTool() {
      extraTool = !extraTool;
      tell((notifier) => notifier.toolsChanged());
    },
    togglePrompt() {
      extraPrompt = !extraPrompt;
      tell((notifier) => notifier.promptsChanged());
    },
    updateResource(content) {
      watchedContent = content;
      tell((notifier) => notifier.resourceUpdated(WATCHED_URI));
    },
    listen(notifier) {
      listeners.add(notifier);
      return () => {
        listeners.delete(notifier);
      };
    },
  };
}
