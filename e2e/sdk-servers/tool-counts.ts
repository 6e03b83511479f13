/** Executions of one tool. */
export interface ToolCount {
  begun: number;
  ended: number;
  aborted: number;
}

/** Counts the executions of tools over all sessions of a process. */
export interface ToolCounts {
  /** Counts an execution. The tool calls the returned function when it ends. */
  begin(tool: string, signal: AbortSignal): () => void;
  /** Returns the counts by tool name. `aborted`: executions whose call was cancelled before they ended. */
  read(): Record<string, ToolCount>;
}

export function createToolCounts(): ToolCounts {
  const counts = new Map<string, ToolCount>();
  return {
    begin(tool, signal) {
      const count = counts.get(tool) ?? { begun: 0, ended: 0, aborted: 0 };
      counts.set(tool, count);
      count.begun += 1;
      const abort = () => {
        count.aborted += 1;
      };
      signal.addEventListener('abort', abort, { once: true });
      return () => {
        signal.removeEventListener('abort', abort);
        count.ended += 1;
      };
    },
    read: () => Object.fromEntries([...counts].map(([tool, count]) => [tool, { ...count }])),
  };
}
