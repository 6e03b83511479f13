import { CATEGORY, KIND_NAMES, type KindName } from '../kinds/kind-names.ts';
import { VERSION } from '../kinds/resource.ts';
import { OBJECTS } from '../kinds/schemas.ts';
import type { Condition } from '../parts/conditions.ts';
import { checkStructural } from './check-structural.ts';
import { PRINTER_COLUMNS } from './printer-columns.ts';
import type { SchemaNode } from './schema-node.ts';
import { structuralSchema } from './structural.ts';

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
