import { CATEGORY, KIND_NAMES, type KindName } from '../kinds/kind-names.ts';
import { VERSION } from '../kinds/resource.ts';
import { OBJECTS } from '../kinds/schemas.ts';
import type { Condition } from '../parts/conditions.ts';
import { checkStructural } from './check-structural.ts';
import type { SchemaNode } from './schema-node.ts';
import { structuralSchema } from './structural.ts';

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
const PRINTER_COLUMNS: Record<KindName, PrinterColumn[]> = {
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

const SCALE: Partial<Record<KindName, object>> = {
  VirtualMCPServer: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
};

/** Until an operator reconciles: kstatus takes a resource without conditions for ready. No observedGeneration, as nothing is served. */
const NOT_LOOKED_AT: { conditions: Condition[] } = {
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'NotLookedAt',
      message: 'No operator has looked at it yet: wait, or see that one runs and watches this namespace.',
      lastTransitionTime: '1970-01-01T00:00:00Z',
    },
  ],
};

function schemaOf(kind: KindName): SchemaNode {
  const schema = structuralSchema(OBJECTS[kind]);
  const status = { ...schema.properties?.status, default: NOT_LOOKED_AT };
  return { ...schema, properties: { ...schema.properties, status } };
}

/** Returns the CustomResourceDefinition of a kind. @throws Error if the API server would refuse it */
export function customResourceDefinition(kind: KindName, group: string, annotations?: Record<string, string>) {
  const { plural, singular, shortName } = KIND_NAMES[kind];
  const schema = schemaOf(kind);
  checkStructural(kind, schema);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...(annotations && { annotations }) },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames: [shortName], categories: [CATEGORY] },
      scope: 'Namespaced',
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {}, ...(SCALE[kind] && { scale: SCALE[kind] }) },
          additionalPrinterColumns: PRINTER_COLUMNS[kind],
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}
