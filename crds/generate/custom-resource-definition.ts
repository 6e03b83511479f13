import { CATEGORY, KIND_NAMES, type KindName } from '../kinds/kind-names.ts';
import { VERSION } from '../kinds/resource.ts';
import { OBJECTS } from '../kinds/schemas.ts';
import { checkStructural } from './check-structural.ts';
import { PRINTER_COLUMNS } from './printer-columns.ts';
import { structuralSchema } from './structural.ts';

/** Paths of the scale subresource, for the kinds that have one. */
const SCALE: Partial<Record<KindName, object>> = {
  VirtualMCPServer: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
};

/** The CustomResourceDefinition of a kind, ready to be written as YAML. Throws when the API server would refuse it. */
export function customResourceDefinition(kind: KindName, group: string, annotations?: Record<string, string>) {
  const { plural, singular, shortName } = KIND_NAMES[kind];
  const schema = structuralSchema(OBJECTS[kind]);
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
