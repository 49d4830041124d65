import { z } from 'zod'
import { ConfigError } from '#shared/errors.ts'
import { withSecretFiles } from '#shared/files/secret-files.ts'
import { proxiesSetting } from '#shared/http/client-address.ts'
import { count, type FieldsOf, type Setting, SettingTable, secretFile, userChosenKey } from '#shared/wire/settings.ts'

const PREFIX = 'CARTBARN_HUB_'
/** Variables that commands for a hub read from the same environment before version 1. */
const COMMAND_VARIABLES = ['CARTBARN_HUB_API_KEY']

/** Settings: name in the environment without `CARTBARN_HUB_`, rule, default and description. */
const SETTINGS = {
  HOST: {
    schema: z.string().min(1).optional(),
    help:
      'address to listen on; without it :: with a certificate, which is every address of IPv4 and IPv6, else ' +
      '127.0.0.1, where only this machine reaches it',
    part: 'host',
  },
  PORT: { schema: count(0, 65_535).default(8090), help: 'HTTP port; 0 takes any free port' },
  /** Undefined: the embedded database. */
  DATABASE_URL: {
    schema: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
      .superRefine((url, context) => {
        const fault = databaseUrlFault(url)
        if (url.startsWith('postgres') && fault !== undefined) context.addIssue({ code: 'custom', message: fault })
      })
      .optional(),
    help: 'postgres://… of PostgreSQL; several hubs may share it',
  },
  DATA_DIR: {
    schema: z.string().min(1).default('./hub-data'),
    help: 'folder of the embedded database, which the hub uses without a URL; created with mode 0700',
  },
  ADMIN_API_KEY: {
    schema: userChosenKey(24).optional(),
    help: 'key of the first admin, used at the first start only; at least 24 characters',
  },
  ADMIN_API_KEY_FILE: secretFile('HUB_ADMIN_API_KEY'),
  REQUESTS_PER_SECOND: {
    schema: count(0, 1_000_000).default(500),
    help: 'requests a second of each user, with bursts of four times that; 0 means no limit',
  },
  /** Undefined: the peer of a connection is the client. */
  TRUSTED_PROXIES: {
    schema: proxiesSetting.optional(),
    help: 'reverse proxies that say in X-Forwarded-For who asks: addresses or networks, comma-separated',
  },
  SITE_REQUESTS_PER_SECOND: {
    schema: count(0, 1_000_000).default(50),
    help: 'requests a second of the gateway of each site, with bursts of four times that; 0 means no limit',
  },
  SITE_RECORDS_PER_SECOND: {
    schema: count(0, 100_000_000).default(100_000),
    help: 'positions, voltages and events a second of each site, with bursts of five times that; 0 means no limit',
  },
  SITE_MAX_GB: {
    schema: count(0, 1_000_000).default(100),
    help: 'gigabytes stored for each site; above, its gateway keeps new positions and events; 0 means no limit',
    part: 'siteMaxBytes',
  },
  /** 0 keeps no erased data. */
  ERASED_KEEP_DAYS: {
    schema: count(0, 3_650).default(30),
    help: 'days for which an admin can put back the telemetry and devices that a site erased; 0 keeps nothing of them',
  },
  /** 0 keeps entries permanently. */
  AUDIT_LOG_RETENTION_DAYS: {
    schema: count(0, 36_500).default(400),
    help: 'days after which entries of the audit logs of sites are deleted here; 0 keeps them',
  },
  LOG_LEVEL: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    help: 'debug, info, warn, error or silent',
  },
  TLS_CERT: {
    schema: z.string().min(1).optional(),
    help: 'PEM file of the certificate and its chain, which turns on HTTPS; the hub reloads a changed file',
    part: 'tls',
  },
  TLS_KEY: {
    schema: z.string().min(1).optional(),
    help: 'PEM file of the private key of the certificate',
    part: 'tls',
  },
} as const

const table = new SettingTable(SETTINGS, PREFIX)

export interface HubConfig extends FieldsOf<typeof SETTINGS> {
  host: string
  /** Maximum bytes stored for each site; 0 means no limit. */
  siteMaxBytes: number
  tls: { certPath: string; keyPath: string } | undefined
}

/** Reads `CARTBARN_HUB_*` from the environment. Throws a `ConfigError` listing all unknown names and invalid values. */
export function readHubConfig(environment: Record<string, string | undefined>): HubConfig {
  const given = Object.entries(environment)
    // compose files pass an unset variable as an empty one
    .filter(([name, value]) => isOurs(name) && value !== undefined && value !== '')
    .map(([name, value]) => [name.slice(PREFIX.length), value])
  const { settings, faults } = withSecretFiles(Object.fromEntries(given), ['ADMIN_API_KEY'], PREFIX)
  const values = table.parse(settings, faults)
  const { HOST, SITE_MAX_GB, TLS_CERT, TLS_KEY } = values
  if ((TLS_CERT === undefined) !== (TLS_KEY === undefined)) {
    throw new ConfigError(`${PREFIX}TLS_CERT and ${PREFIX}TLS_KEY: set both or neither`)
  }
  return {
    ...table.fieldsOf(values),
    host: HOST ?? (TLS_CERT === undefined ? '127.0.0.1' : '::'),
    siteMaxBytes: SITE_MAX_GB * 1e9,
    tls: TLS_CERT === undefined || TLS_KEY === undefined ? undefined : { certPath: TLS_CERT, keyPath: TLS_KEY },
  }
}

/** Returns the fault in a PostgreSQL URL, without its secrets. */
function databaseUrlFault(text: string): string | undefined {
  const authority = /^[^:]+:\/\/([^/?#]*)/.exec(text)?.[1] ?? ''
  const hosts = authority.slice(authority.lastIndexOf('@') + 1)
  // pg accepts a user and a socket without a host
  const url = URL.parse(text.replace('@/', '@localhost/'))
  const given = ['host', 'port'].map((name) => url?.searchParams.get(name) ?? '')
  if ([hosts, ...given].some((value) => value.includes(',')))
    return 'names several servers, and the hub takes one: name a proxy or an address that follows the primary server'
  return url === null
    ? 'is not a URL: characters such as @ : / ? # in the user or password are written as %40 %3A %2F %3F %23'
    : undefined
}

/** Returns one line per setting, for `--help` and `/docs`. */
export function describeHubSettings(): Setting[] {
  return table.describe()
}

function isOurs(name: string): boolean {
  return name.startsWith(PREFIX) && !COMMAND_VARIABLES.includes(name)
}
