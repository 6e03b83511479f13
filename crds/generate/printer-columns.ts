import type { KindName } from '../kinds/kind-names.ts';

interface PrinterColumn {
  name: string;
  type: 'string' | 'integer' | 'date';
  jsonPath: string;
  description?: string;
  priority?: number;
}

const age: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const ready: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  priority: 1,
};
/** The reason of the condition in one word; the message has the remedy. */
const reason: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
};
const phase: PrinterColumn = { name: 'Phase', type: 'string', jsonPath: '.status.phase' };
const references: PrinterColumn = { name: 'References', type: 'integer', jsonPath: '.status.referenceCount' };

/** Columns of `kubectl get`; those with a priority above 0 only with `-o wide`. */
export const PRINTER_COLUMNS: Record<KindName, PrinterColumn[]> = {
  VirtualMCPServer: [
    phase,
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    { name: 'Backends', type: 'integer', jsonPath: '.status.backendCount' },
    { name: 'Tools', type: 'integer', jsonPath: '.status.toolCount' },
    { name: 'Group', type: 'string', jsonPath: '.spec.config.groupRef', priority: 1 },
    ready,
    reason,
    age,
  ],
  MCPGroup: [phase, { name: 'Servers', type: 'integer', jsonPath: '.status.serverCount' }, ready, reason, age],
  MCPServer: [
    phase,
    { name: 'Group', type: 'string', jsonPath: '.spec.groupRef' },
    { name: 'Transport', type: 'string', jsonPath: '.status.transport' },
    // Only an MCPServer with its own endpoint counts its tools. For a group member, its VirtualMCPServer reports them.
    { name: 'Tools', type: 'integer', jsonPath: '.status.toolCount', priority: 1 },
    { name: 'URL', type: 'string', jsonPath: '.status.url', priority: 1 },
    ready,
    reason,
    age,
  ],
  MCPExternalAuthConfig: [{ name: 'Type', type: 'string', jsonPath: '.spec.type' }, references, ready, reason, age],
  MCPOIDCConfig: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Issuer', type: 'string', jsonPath: '.spec.inline.issuer', priority: 1 },
    references,
    ready,
    reason,
    age,
  ],
};
