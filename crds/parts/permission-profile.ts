import { z } from 'zod';

const Hosts = z.array(z.string().min(1).max(260)).max(256);

/** A path of the machine, or `<path of the machine>:<path in the program>`. */
const Paths = z.array(z.string().min(1).max(8192).regex(/^\//, 'not an absolute path; write it from /')).max(64);

/** A permission profile in a ConfigMap: the wire form, which registries also use. */
export const PermissionProfileDocument = z.strictObject({
  name: z.string().max(253).optional(),
  network: z
    .strictObject({
      inbound: z.strictObject({ allow_host: Hosts.optional() }).optional(),
      mode: z.string().max(64).optional(),
      outbound: z
        .strictObject({
          allow_host: Hosts.optional(),
          allow_port: z.array(z.int().min(1).max(65_535)).max(256).optional(),
          insecure_allow_all: z.boolean().optional(),
        })
        .optional(),
    })
    .optional(),
  privileged: z.boolean().optional(),
  read: Paths.optional(),
  write: Paths.optional(),
});
export type PermissionProfileDocument = z.infer<typeof PermissionProfileDocument>;

const AddressRange = z.union([z.cidrv4(), z.cidrv6()]);

/** Returns the address range of an entry of `allow_host`; undefined for a host name. */
export function addressRange(host: string): string | undefined {
  return [host, `${host}/${host.includes(':') ? 128 : 32}`].find((text) => AddressRange.safeParse(text).success);
}
