import { manifest, type ManifestCase } from './manifest-case.ts';

/** Invalid documents, Secrets and ConfigMaps. */
export const REFUSED_DOCUMENTS: ManifestCase[] = [
  {
    of: 'YAML that is broken',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: [MCPGroup\n',
    problems: [
      '3: the indentation does not fit what stands above, or a closing bracket is missing; look at this line and its neighbours',
    ],
  },
  {
    of: 'the same key twice',
    text: 'apiVersion: v1\nkind: Secret\nkind: Secret\nmetadata: { name: s }\n',
    problems: ['3: the same key twice in one mapping; remove one'],
  },
  {
    of: 'a line that is indented too far',
    text: 'apiVersion: v1\nkind: Secret\n  metadata: { name: s }\n',
    problems: [
      '2: a line is indented below one that already has a value, or two keys stand on one line; look at this line and its neighbours',
    ],
  },
  {
    of: 'tabs',
    text: 'apiVersion: v1\nkind: Secret\nmetadata:\n\tname: s\n',
    problems: ['4: a tab is used for indentation, where YAML wants spaces; look at this line and its neighbours'],
  },
  {
    of: 'an alias without an anchor',
    text: 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: s }\ndata: { a: *b }\n',
    problems: ['1: an alias names no anchor that stands before it; write the values out'],
  },
  {
    of: 'no kind',
    text: 'apiVersion: v1\nmetadata: { name: s }\n',
    problems: [
      '1 kind: required field is missing; write one of VirtualMCPServer, MCPGroup, MCPServer, MCPExternalAuthConfig, MCPOIDCConfig, Secret, ConfigMap',
    ],
  },
  {
    of: 'a list in place of a resource',
    text: '- a\n- b\n',
    problems: [
      '1 kind: required field is missing; write one of VirtualMCPServer, MCPGroup, MCPServer, MCPExternalAuthConfig, MCPOIDCConfig, Secret, ConfigMap',
    ],
  },
  {
    of: 'a misspelt kind',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: VirtualMcpServer\nmetadata: { name: a }\n',
    problems: [
      '2 kind: unknown kind `VirtualMcpServer`; known are VirtualMCPServer, MCPGroup, MCPServer, MCPExternalAuthConfig, MCPOIDCConfig, Secret, ConfigMap; did you mean `VirtualMCPServer`?',
    ],
  },
  {
    of: 'a kind of the family that is not read',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPRegistry\nmetadata: { name: a }\n',
    problems: [
      '2 kind: unknown kind `MCPRegistry`; known are VirtualMCPServer, MCPGroup, MCPServer, MCPExternalAuthConfig, MCPOIDCConfig, Secret, ConfigMap; move it to another folder',
    ],
  },
  {
    of: 'an unknown kind without API version',
    text: 'kind: Deployment\nmetadata: { name: a }\n',
    problems: [
      '1 kind: unknown kind `Deployment`; known are VirtualMCPServer, MCPGroup, MCPServer, MCPExternalAuthConfig, MCPOIDCConfig, Secret, ConfigMap; move it to another folder',
    ],
  },
  {
    of: 'a folder that Kustomize puts together',
    text: 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]\n',
    problems: [
      '2 kind: unknown kind `Kustomization`; known are VirtualMCPServer, MCPGroup, MCPServer, MCPExternalAuthConfig, MCPOIDCConfig, Secret, ConfigMap; write what `kubectl kustomize` prints into a folder, and name that one',
    ],
  },
  {
    of: 'another version',
    text: 'apiVersion: vmcp.dev/v1beta1\nkind: MCPGroup\nmetadata: { name: a }\n',
    problems: ['1 apiVersion: not an API version of this kind; write <api_group>/v1alpha1'],
  },
  {
    of: 'no API version',
    text: 'kind: MCPGroup\nmetadata: { name: a }\n',
    problems: ['1 apiVersion: required field is missing; write <api_group>/v1alpha1'],
  },
  {
    of: 'no metadata',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\n',
    problems: ['1 metadata: required field is missing; write a mapping'],
  },
  {
    of: 'no name',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata:\n  namespace: a\n',
    problems: ['3 metadata.name: required field is missing; write a string'],
  },
  {
    of: 'a name of 46 characters',
    text: `apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata:\n  name: ${'a'.repeat(46)}\n`,
    problems: ['4 metadata.name: longer than 45 characters; shorten it'],
  },
  {
    of: 'a name that starts with a digit',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata:\n  name: 1a\n',
    problems: [
      '4 metadata.name: not a DNS-1035 label; write lower-case letters, digits and hyphens, a letter first, no hyphen last',
    ],
  },
  {
    of: 'a misspelt field of metadata',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata:\n  name: a\n  label: { a: b }\n',
    problems: ['5 metadata.label: unknown field `label`; did you mean `labels`?'],
  },
  {
    of: 'a field beside spec',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: { name: a }\ndescription: b\n',
    problems: [
      '4 description: unknown field `description`; remove it, or use one of apiVersion, kind, metadata, spec, status',
    ],
  },
  {
    of: 'a server without spec',
    text: 'apiVersion: vmcp.dev/v1alpha1\nkind: VirtualMCPServer\nmetadata: { name: a }\n',
    problems: ['1 spec: required field is missing; write a mapping'],
  },
  {
    of: 'the same resource twice',
    text: `${manifest('MCPGroup', 'description: a')}---\n${manifest('MCPGroup', 'description: b')}`,
    problems: ['11 metadata.name: MCPGroup `demo` is already written at 0.yaml:1, which counts; remove one of them'],
  },
  {
    of: 'two wrong documents in one file',
    text: `${manifest('MCPGroup', 'descripton: a')}---\napiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: { name: b }\nspec:\n  image: a\n  replica: 2\n`,
    problems: [
      '6 spec.descripton: unknown field `descripton`; did you mean `description`?',
      '13 spec.replica: unknown field `replica`; did you mean `replicas`?',
    ],
  },
  {
    of: 'a Secret with a number',
    text: 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData:\n  pin: 1234\n',
    problems: ['5 stringData.pin: is a number, not a string; write a string, in quotes'],
  },
  {
    of: 'a Secret whose data is not base64',
    text: 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\ndata:\n  a: "not coded"\n',
    problems: ['5 data.a: not base64; encode it, or write the value under stringData'],
  },
  {
    of: 'a Secret of another version',
    text: 'apiVersion: v2\nkind: Secret\nmetadata: { name: s }\n',
    problems: ['1 apiVersion: not v1; write v1'],
  },
  {
    of: 'a misspelt field of a Secret',
    text: 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringdata: { a: b }\n',
    problems: ['4 stringdata: unknown field `stringdata`; did you mean `stringData`?'],
  },
  {
    of: 'a ConfigMap with binary data',
    text: 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: s }\nbinaryData: { a: b }\n',
    problems: ['4 binaryData: not read from a folder; write text under data'],
  },
];
