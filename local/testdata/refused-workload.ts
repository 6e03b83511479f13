import { manifest, type ManifestCase } from './manifest-case.ts';

/** Invalid MCPServers. */
export const REFUSED_WORKLOAD: ManifestCase[] = [
  {
    of: 'nothing to run',
    text: manifest('MCPServer', 'groupRef: team'),
    problems: ['5 spec: needs something to run or to reach; write at least one of image, remoteUrl and command'],
  },
  {
    of: 'a remote server with an image',
    text: manifest('MCPServer', 'remoteUrl: https://a.example/mcp\nimage: a'),
    problems: ['7 spec.image: not allowed beside remoteUrl; keep one of remoteUrl and image'],
  },
  {
    of: 'a remote server with a program',
    text: manifest('MCPServer', 'remoteUrl: https://a.example/mcp\ncommand: [a]'),
    problems: ['7 spec.command: not allowed beside remoteUrl; keep one of remoteUrl and command'],
  },
  {
    of: 'a remote server on stdio',
    text: manifest('MCPServer', 'remoteUrl: https://a.example/mcp\ntransport: stdio'),
    problems: ['7 spec.transport: stdio cannot be spoken to a remoteUrl; write streamable-http or sse'],
  },
  {
    of: 'a process for each session over HTTP',
    text: manifest('MCPServer', 'image: a\nstdioProcess: perSession'),
    problems: [
      '7 spec.stdioProcess: perSession is for transport stdio; write transport: stdio, or remove stdioProcess',
    ],
  },
  {
    of: 'two pods of a program on stdio',
    text: manifest('MCPServer', 'command: [a]\nbackendReplicas: 2'),
    problems: ['7 spec.backendReplicas: a program on stdio has one pod; write 0 or 1, or another transport'],
  },
  {
    of: 'a token without an account',
    text: manifest('MCPServer', 'image: a\nautomountServiceAccountToken: true'),
    problems: [
      '7 spec.automountServiceAccountToken: needs serviceAccount; write it, or remove automountServiceAccountToken',
    ],
  },
  {
    of: 'an image that engines would read as an option',
    text: manifest('MCPServer', "image: '--privileged'"),
    problems: ['6 spec.image: not an image reference; write for example ghcr.io/owner/name:1.0'],
  },
  {
    of: 'published ports that are none',
    text: manifest('MCPServer', "image: a\npublish: ['65536:80', '8080', '0:1', '256.0.0.1:1:1', '80:--privileged']"),
    problems: [0, 2, 3, 4].map(
      (index) =>
        `7 spec.publish[${index}]: not a published port; write <port of the machine>:<port of the container>, for example 8080:80`,
    ),
  },
  {
    of: 'headers on stdio',
    text: manifest('MCPServer', 'command: [a]\nheaderForward: { addPlaintextHeaders: { A: b } }'),
    problems: [
      '7 spec.headerForward: transport stdio has no headers; write the values as env or secrets, or another transport',
    ],
  },
  {
    of: 'a remote login without remote server',
    text: manifest('MCPServer', 'image: a\nremoteAuth: { clientId: a }'),
    problems: ['7 spec.remoteAuth: needs remoteUrl; write it, or remove remoteAuth'],
  },
  {
    of: 'two ways to authenticate at a remote server',
    text: manifest('MCPServer', 'remoteUrl: https://a.example/mcp\nremoteAuth: {}\nexternalAuthConfigRef: { name: a }'),
    problems: [
      '8 spec.externalAuthConfigRef: not allowed beside remoteAuth; keep one of remoteAuth and externalAuthConfigRef',
    ],
  },
  {
    of: 'two issuers of one workload',
    text: manifest('MCPServer', 'image: a\noidcConfig: { type: kubernetes }\noidcConfigRef: { name: a, audience: b }'),
    problems: ['8 spec.oidcConfigRef: not allowed beside oidcConfig; keep one of oidcConfig and oidcConfigRef'],
  },
  {
    of: 'an empty command',
    text: manifest('MCPServer', 'command: []'),
    problems: ['6 spec.command: is empty; write at least one entry'],
  },
  {
    of: 'a command as text',
    text: manifest('MCPServer', 'command: npx server'),
    problems: ['6 spec.command: is a string, not a list; write a list'],
  },
  {
    of: 'an unknown transport',
    text: manifest('MCPServer', 'image: a\ntransport: http'),
    problems: ['7 spec.transport: not one of stdio, sse, streamable-http; write one of them'],
  },
  {
    of: 'a port that is none',
    text: manifest('MCPServer', 'image: a\nmcpPort: 70000'),
    problems: ['7 spec.mcpPort: greater than 65535; write at most 65535'],
  },
  {
    of: 'one variable twice',
    text: manifest('MCPServer', 'image: a\nenv:\n  - { name: A, value: b }\n  - { name: A, value: c }'),
    problems: ['9 spec.env[1].name: the same name as entry [0]; give each entry its own'],
  },
  {
    of: 'a variable with a number',
    text: manifest('MCPServer', 'image: a\nenv:\n  - { name: A, value: 1 }'),
    problems: ['8 spec.env[0].value: is a number, not a string; write a string, in quotes'],
  },
  {
    of: 'an unknown builtin profile',
    text: manifest('MCPServer', 'image: a\npermissionProfile: { type: builtin, name: all }'),
    problems: [
      '7 spec.permissionProfile.name: type builtin has the profiles none and network and no key, type configmap needs a key; write accordingly',
    ],
  },
  {
    of: 'a profile without key',
    text: manifest('MCPServer', 'image: a\npermissionProfile: { type: configmap, name: a }'),
    problems: [
      '7 spec.permissionProfile.name: type builtin has the profiles none and network and no key, type configmap needs a key; write accordingly',
    ],
  },
  {
    of: 'a webhook that may take a minute',
    text: manifest(
      'MCPServer',
      "image: a\nwebhooks: { validating: [{ name: a, url: 'https://a.example', timeout: 1m }] }",
    ),
    problems: ['7 spec.webhooks.validating[0].timeout: out of range; write a duration from 1s to 30s'],
  },
  {
    of: 'a client certificate without key',
    text: manifest(
      'MCPServer',
      "image: a\nwebhooks: { validating: [{ name: a, url: 'https://a.example', tls: { clientCertSecretRef: { name: a, key: b } } }] }",
    ),
    problems: [
      '7 spec.webhooks.validating[0].tls.clientCertSecretRef: needs clientKeySecretRef; write it, or remove clientCertSecretRef',
    ],
  },
  {
    of: 'a relative mount',
    text: manifest('MCPServer', 'image: a\nvolumes: [{ name: a, hostPath: data, mountPath: /data }]'),
    problems: ['7 spec.volumes[0].hostPath: not an absolute path; write it from /'],
  },
  {
    of: 'an externalAuthConfigRef that is text',
    text: manifest('MCPServer', 'image: a\nexternalAuthConfigRef: github'),
    problems: ['7 spec.externalAuthConfigRef: is a string, not a mapping; write a mapping'],
  },
];
