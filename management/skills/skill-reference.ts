import { isAbsolute } from 'node:path';
import { unusable } from './skill-limits.ts';

export type SkillReference =
  | { kind: 'folder'; path: string }
  | { kind: 'git'; url: string; ref: string | undefined; path: string | undefined }
  | { kind: 'oci'; registry: string; repository: string; tag: string | undefined; digest: string | undefined };

/** A branch, tag or commit that git does not read as an option, a range or a refspec (git-check-ref-format(1)). */
const REF = /^[A-Za-z0-9_][A-Za-z0-9_./+-]{0,200}$/;
const NO_REF = /\.\.|\/\/|\.lock(\/|$)|\/\.|[./]$/;
const TAG = /^\w[\w.-]{0,127}$/;
/** OCI Distribution Specification, with the host in front. */
const OCI =
  /^(?:oci:\/\/)?((?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::[0-9]{1,5})?)\/([a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/;

const EXAMPLES =
  'write ghcr.io/owner/skill:tag, git://host/owner/repository@ref#folder, or on one machine the absolute path of a folder';

const shown = (text: string): string => JSON.stringify(text.slice(0, 200));

/** Takes `version` as tag or ref if the text has none. @throws Problem `bad_request` */
export function readReference(text: string, version?: string): SkillReference {
  if (text.startsWith('file://')) return { kind: 'folder', path: pathOfUrl(text) };
  if (isAbsolute(text)) return { kind: 'folder', path: text };
  if (/^(git|git\+https?|git\+file|https?):\/\//.test(text)) return readGit(text, version);
  return readOci(text, version);
}

export function writeReference(reference: SkillReference): string {
  if (reference.kind === 'folder') return reference.path;
  if (reference.kind === 'oci') {
    const { registry, repository, tag, digest } = reference;
    return `${registry}/${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
  }
  const { url, ref, path } = reference;
  return `git+${url}${ref === undefined ? '' : `@${ref}`}${path === undefined ? '' : `#${path}`}`;
}

export function hostOf(reference: SkillReference): string | undefined {
  if (reference.kind === 'oci') return reference.registry;
  if (reference.kind === 'folder' || reference.url.startsWith('file:')) return undefined;
  return new URL(reference.url).host;
}

function readOci(text: string, version: string | undefined): SkillReference {
  const [, registry = '', repository = '', tag, digest] = OCI.exec(text) ?? [];
  const isHost = /[.:]|^localhost$/.test(registry) || text.startsWith('oci://');
  if (registry === '' || !isHost) throw unusable(`name: ${shown(text)} is no reference; ${EXAMPLES}`);
  if (!URL.canParse(`https://${registry}`)) throw unusable(`name: ${shown(registry)} is no host and port`);
  return { kind: 'oci', registry, repository, tag: oneOf('tag', tag, version), digest };
}

function readGit(text: string, version: string | undefined): SkillReference {
  const [address = '', path = ''] = text.split('#', 2);
  const [, scheme = '', rest = ''] = /^(?:git\+)?(git|https?|file):\/\/(.*)$/.exec(address) ?? [];
  // An @ after the host starts the ref; an @ in front of it ends the user info.
  const at = rest.lastIndexOf('@');
  if (at !== -1 && at < rest.indexOf('/'))
    throw unusable('name: has a user name or password; remove them, as references are shown to others');
  const place = at === -1 ? rest : rest.slice(0, at);
  const ref = oneOf('ref', at === -1 ? undefined : rest.slice(at + 1), version);
  return {
    kind: 'git',
    url: urlOf(scheme === 'git' ? 'https' : scheme, place),
    ref,
    path: path === '' ? undefined : readFolder(path),
  };
}

function urlOf(scheme: string, place: string): string {
  const url = /^[\x21-\x5b\x5d-\x7e]+$/.test(place) ? URL.parse(`${scheme}://${place}`) : null;
  const hasPlace = scheme === 'file' ? place.startsWith('/') : place.indexOf('/') > 0;
  if (url?.search !== '' || url.hostname.startsWith('-') || !hasPlace)
    throw unusable(`name: ${shown(place)} is no place of a repository; ${EXAMPLES}`);
  return url.href;
}

function oneOf(what: 'tag' | 'ref', inside: string | undefined, beside: string | undefined): string | undefined {
  if (inside !== undefined && beside !== undefined && inside !== beside)
    throw unusable(`version: the reference has the ${what} "${inside}" already; write one of them`);
  const chosen = inside ?? beside;
  if (chosen === undefined) return undefined;
  const fits = what === 'tag' ? TAG.test(chosen) : REF.test(chosen) && !NO_REF.test(chosen);
  if (!fits)
    throw unusable(`name, version: ${shown(chosen)} is no ${what === 'tag' ? 'tag' : 'branch, tag or commit'}`);
  return chosen;
}

function readFolder(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length > 0 && parts.every((part) => /^[\w.][\w. +-]*$/.test(part) && part !== '..')) return parts.join('/');
  throw unusable(`name: ${shown(path)} is no folder of a repository`);
}

function pathOfUrl(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== 'file:' || url.host !== '') throw unusable('name: is no file URL of this machine');
  return decodeURIComponent(url.pathname);
}
