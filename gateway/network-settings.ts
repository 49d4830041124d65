import { existsSync } from 'node:fs'
import { z } from 'zod'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'
import { proxiesSetting } from '#shared/http/client-address.ts'
import { isLoopback } from '#shared/http/listener.ts'
import { count, missingFaults, PREFIX, type SettingValues, secretFile, userChosenKey } from '#shared/wire/settings.ts'

export const DEFAULT_DATA_DIR = './data'

/** Parses an address without a path, as used for links; null for anything else. */
function publicOrigin(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  return [url.origin, `${url.origin}/`].includes(text.toLowerCase()) ? url.origin : null
}

const port = count(0, 65_535)
const PORT_OR_OFF = { error: 'must be a whole number from 0 to 65535, or off' }
const portOrOff = z.preprocess(
  (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
  z.union([z.literal('off'), z.number().int(PORT_OR_OFF).min(0, PORT_OR_OFF).max(65_535, PORT_OR_OFF)], PORT_OR_OFF),
)

export const NETWORK = {
  DATA_DIR: {
    schema: z.string().min(1).default(DEFAULT_DATA_DIR),
    help: 'database, side files, backups; created 0700',
  },
  HOST: {
    schema: z.string().min(1).default('::'),
    help: 'address to listen on; :: is every address of IPv4 and IPv6, 0.0.0.0 every one of IPv4',
  },
  HTTP_PORT: { schema: port.default(8080), help: 'API, /realtime, /mqtt (WebSocket); 0 takes any free port' },
  /** Undefined: no MQTT without TLS. */
  MQTT_PORT: {
    schema: portOrOff.default(1883).transform((value) => (value === 'off' ? undefined : value)),
    help: 'MQTT over TCP without TLS; 0 takes any free port, off closes it',
  },
  /** Undefined: no MQTT over TLS. */
  MQTTS_PORT: {
    schema: port.optional(),
    help: 'MQTT over TLS, by custom 8883; 0 takes any free port; needs a certificate',
  },
  TLS_CERT: {
    schema: z.string().min(1).optional(),
    help: 'PEM file of the certificate and its chain; with it HTTP becomes HTTPS; a new file is detected',
    part: 'tls',
  },
  PLAIN_HTTP: {
    schema: z.enum(['on', 'off']).default('on'),
    help:
      'with a certificate: on also serves HTTP on the same port as HTTPS, for devices and programs that do not know ' +
      'it yet; off closes it',
    part: 'takesPlainHttp',
  },
  TLS_KEY: {
    schema: z.string().min(1).optional(),
    help: 'PEM file of the private key of the certificate',
    part: 'tls',
  },
  MDNS: {
    schema: z.enum(['on', 'off']).default('on'),
    help:
      'on lets browsers and programs of the local network find the gateway by mDNS, unless it listens on the ' +
      'loopback only',
    part: 'isAnnounced',
  },
  ADMIN_API_KEY: {
    schema: userChosenKey(24).optional(),
    help: "the first admin's key, at the first start only; at least 24 characters",
  },
  ADMIN_API_KEY_FILE: secretFile('ADMIN_API_KEY'),
  ENROLMENT_KEY: {
    schema: userChosenKey(16).optional(),
    help: 'devices may enrol themselves with it; at least 16 characters, 8 of them different',
    part: 'enrolment',
  },
  ENROLMENT_KEY_FILE: secretFile('ENROLMENT_KEY'),
  ENROLMENT: {
    schema: z.enum(['window', 'always']).default('window'),
    help:
      'window: the enrolment key works for 24 hours after each start and while POST /enrolment opens it; always: ' +
      'at any time',
    part: 'enrolment',
  },
  LOG_LEVEL: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    help: 'debug, info, warn, error or silent',
  },
  CORS_ORIGINS: {
    schema: z.string().optional(),
    help: 'origins that may call the API from a browser, comma-separated, or *',
    part: 'corsOrigins',
  },
  REQUESTS_PER_SECOND: {
    schema: count(0, 1_000_000).default(500),
    help: 'sustained requests per second of a key or a session (bursts of four times that); 0 disables the limit',
  },
  HTTP_SOCKETS_PER_ADDRESS: {
    schema: count(1, 4_000).default(500),
    help: 'concurrent HTTP connections from one address; 4,000 in all',
  },
  /** Without a trailing slash; undefined: the address in the request, or this host's own. */
  PUBLIC_URL: {
    schema: z
      .string()
      .refine((text) => publicOrigin(text) !== null, 'must be http://HOST or https://HOST, optionally with a port')
      .transform((text) => publicOrigin(text) ?? undefined)
      .optional(),
    help:
      'address at which people reach the gateway, for links and QR codes; else the one of the request or of this ' +
      'machine',
  },
  /** Undefined: the peer of a connection is the client. */
  TRUSTED_PROXIES: {
    schema: proxiesSetting.optional(),
    help: 'reverse proxies whose X-Forwarded-For names the client: addresses or networks, comma-separated',
  },
  USER_REALTIME_SOCKETS: {
    schema: count(1, 2_000).default(20),
    help: '/realtime connections of one user at once; many tablets may share a key',
  },
  USER_DOWNLOADS: {
    schema: count(1, 1_000).default(4),
    help: 'concurrent reads by one user of histories longer than 200 records',
  },
} as const

type Network = SettingValues<typeof NETWORK>

interface TlsFiles {
  certPath: string
  keyPath: string
  /** True if the certificate is issued by the authority in the data folder. */
  isOfOwnAuthority: boolean
}

/** Derives the parts of the configuration that differ from the settings. */
export function networkOf(settings: Network) {
  return {
    tls: tlsOf(settings),
    /** HTTP in addition to HTTPS. */
    takesPlainHttp: settings.PLAIN_HTTP === 'on',
    /** Announced on the local network by mDNS. */
    isAnnounced: settings.MDNS === 'on' && !isLoopback(settings.HOST),
    /** `key` undefined: no device can enrol. */
    enrolment: { key: settings.ENROLMENT_KEY, isAlways: settings.ENROLMENT === 'always' },
    corsOrigins: (settings.CORS_ORIGINS ?? '')
      .split(',')
      .map((origin) => origin.trim())
      .filter((origin) => origin !== ''),
  }
}

/** Returns the configured certificate, else that of the authority in the data folder. */
function tlsOf({ DATA_DIR, TLS_CERT, TLS_KEY }: Network): TlsFiles | undefined {
  if (TLS_CERT !== undefined && TLS_KEY !== undefined)
    return { certPath: TLS_CERT, keyPath: TLS_KEY, isOfOwnAuthority: false }
  return ownTlsOf(DATA_DIR)
}

/** Returns the certificate of the authority in a data folder; undefined without one. */
export function ownTlsOf(dataDir: string): TlsFiles | undefined {
  const { authorityPath, leafPath } = new AuthorityFolder(dataDir)
  return existsSync(authorityPath) ? { certPath: leafPath, keyPath: leafPath, isOfOwnAuthority: true } : undefined
}

/** Returns contradictions between settings, one line each. */
export function networkFaults(settings: Network): string[] {
  const { MQTT_PORT, MQTTS_PORT, TLS_CERT, TLS_KEY, PLAIN_HTTP } = settings
  const lines = missingFaults({ TLS_CERT, TLS_KEY })
  const hasCertificate = tlsOf(settings) !== undefined
  if (MQTTS_PORT !== undefined && lines.length === 0 && !hasCertificate)
    lines.push(
      `${PREFIX}MQTTS_PORT: needs a certificate: "cartbarn tls init" makes one, or ${PREFIX}TLS_CERT and ` +
        `${PREFIX}TLS_KEY name yours`,
    )
  if (PLAIN_HTTP === 'off' && !hasCertificate)
    lines.push(`${PREFIX}PLAIN_HTTP: off needs a certificate, or no port would be left for browsers`)
  if (MQTT_PORT === undefined && MQTTS_PORT === undefined)
    lines.push(`${PREFIX}MQTT_PORT: off needs ${PREFIX}MQTTS_PORT, or no port would be left for devices`)
  return lines
}
