import { existsSync } from 'node:fs'
import type { BlockList } from 'node:net'
import { resolve } from 'node:path'
import { z } from 'zod'
import { upstreamUrlFault } from '#agent/upstream.ts'
import { CLOCK_WITNESSES, type ClockWitness } from '#domain/clock-state.ts'
import type { BackupSettings } from '#services/backups.ts'
import type { MailSettings } from '#services/notifications/mailer.ts'
import type { DiskBudget } from '#services/telemetry/disk-guard.ts'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'
import { ConfigError } from '#shared/errors.ts'
import { withSecretFiles } from '#shared/files/secret-files.ts'
import { proxiesSetting } from '#shared/http/client-address.ts'
import { isLoopback } from '#shared/http/listener.ts'
import {
  chosenKey,
  count,
  describeSetting,
  type Setting,
  settingFault,
  unknownSettingFault,
} from '#shared/wire/settings.ts'
import { webUrlFault } from '#shared/wire/webhooks.ts'
import { isS3Target, type S3Settings, s3AddressOf, s3EndpointFault } from '#store/backups/s3/s3-address.ts'
import { readSettingsFile } from './settings-file.ts'

/** An address without a path, as links begin; null for anything else. */
function publicOrigin(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  return [url.origin, `${url.origin}/`].includes(text.toLowerCase()) ? url.origin : null
}

function isMailServer(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== ''
}

const port = count(0, 65_535)
const PORT_OR_OFF = { error: 'must be a whole number from 0 to 65535, or off' }
const portOrOff = z.preprocess(
  (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
  z.union(
    [z.literal('off'), z.number().int(PORT_OR_OFF).min(0, PORT_OR_OFF).max(65_535, PORT_OR_OFF)],
    PORT_OR_OFF,
  ),
)

const BYTES_OR_SHARE = { error: 'must be bytes (100000000 or more) or a share of the volume, as 80%' }
const bytesOrShare = z.preprocess(
  (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
  z.union(
    [
      z.string().regex(/^([1-9]\d?|100)%$/, BYTES_OR_SHARE),
      z.number().int(BYTES_OR_SHARE).min(100_000_000, BYTES_OR_SHARE),
    ],
    BYTES_OR_SHARE,
  ),
)

const namesIn = (text: string) => text.split(',').map((name) => name.trim())
const witnesses = z
  .string()
  .refine(
    // wider, to ask whether any text is one
    (text) => namesIn(text).every((name) => (CLOCK_WITNESSES as readonly string[]).includes(name)),
    `must be some of ${CLOCK_WITNESSES.join(', ')}, comma-separated`,
  )
  .transform((text): readonly ClockWitness[] =>
    CLOCK_WITNESSES.filter((name) => namesIn(text).includes(name)),
  )

export const DEFAULT_DATA_DIR = './data'
const PREFIX = 'CARTBARN_'
/** Settings of the head office, which may run on the same machine. */
const HUB_PREFIX = 'CARTBARN_HUB_'
/** What commands read of the same environment. */
const COMMAND_VARIABLES = [
  'CARTBARN_API_KEY',
  'CARTBARN_CONFIG',
  'CARTBARN_RELEASE_KEYS',
  'CARTBARN_RELEASE_KEY_FILE',
]
/** They may be in files too. */
const SECRETS = [
  'ADMIN_API_KEY',
  'ENROLMENT_KEY',
  'SMTP_URL',
  'UPSTREAM_KEY',
  'BACKUP_PASSPHRASE',
  'BACKUP_S3_SECRET',
]

function secretFile(name: string) {
  return {
    schema: z.string().min(1).optional(),
    help: `file that holds ${PREFIX}${name}, which ps and systemctl would show`,
  }
}

/** Every setting: its name in the environment without `CARTBARN_`, its rule, its default and what it does. */
const SETTINGS = {
  DATA_DIR: {
    schema: z.string().min(1).default(DEFAULT_DATA_DIR),
    help: 'database, side files, backups; created 0700',
  },
  HOST: {
    schema: z.string().min(1).default('::'),
    help: 'address to listen on; :: is every address of IPv4 and IPv6, 0.0.0.0 every one of IPv4',
  },
  HTTP_PORT: { schema: port.default(8080), help: 'API, /realtime, /mqtt (WebSocket); 0 takes any free port' },
  MQTT_PORT: {
    schema: portOrOff.default(1883),
    help: 'MQTT over TCP without TLS; 0 takes any free port, off closes it',
  },
  MQTTS_PORT: {
    schema: port.optional(),
    help: 'MQTT over TLS, by custom 8883; 0 takes any free port; needs a certificate',
  },
  TLS_CERT: {
    schema: z.string().min(1).optional(),
    help: 'PEM file of the certificate and its chain; with it HTTP is HTTPS; a new file is noticed',
  },
  PLAIN_HTTP: {
    schema: z.enum(['on', 'off']).default('on'),
    help: 'with a certificate: on serves HTTP beside HTTPS on the same port, for devices and programs that do not know it yet; off closes it',
  },
  TLS_KEY: { schema: z.string().min(1).optional(), help: 'PEM file of the private key of the certificate' },
  MDNS: {
    schema: z.enum(['on', 'off']).default('on'),
    help: 'on lets browsers and programs of the local network find the gateway by mDNS, unless it listens on the loopback only',
  },
  ADMIN_API_KEY: {
    schema: chosenKey(24).optional(),
    help: "the first admin's key, at the first start only; at least 24 characters",
  },
  ADMIN_API_KEY_FILE: secretFile('ADMIN_API_KEY'),
  ENROLMENT_KEY: {
    schema: chosenKey(16).optional(),
    help: 'devices may enrol themselves with it; at least 16 characters, 8 of them different',
  },
  ENROLMENT_KEY_FILE: secretFile('ENROLMENT_KEY'),
  ENROLMENT: {
    schema: z.enum(['window', 'always']).default('window'),
    help: 'window: the enrolment key works for 24 hours after each start and while POST /enrolment opens it; always: at any time',
  },
  LOG_LEVEL: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    help: 'debug, info, warn, error or silent',
  },
  CORS_ORIGINS: {
    schema: z.string().optional(),
    help: 'origins that may call the API from a browser, comma-separated, or *',
  },
  REQUESTS_PER_SECOND: {
    schema: count(0, 1_000_000).default(500),
    help: 'sustained requests a second of a key or a session (bursts of four times that); 0 is no limit',
  },
  HTTP_SOCKETS_PER_ADDRESS: {
    schema: count(1, 4_000).default(500),
    help: 'HTTP connections at once from one address; 4,000 in all',
  },
  PUBLIC_URL: {
    schema: z
      .string()
      .refine(
        (text) => publicOrigin(text) !== null,
        'must be http://HOST or https://HOST, with a port or not',
      )
      .optional(),
    help: 'address at which people reach the gateway, for links and QR codes; else the one of the request or of this machine',
  },
  TRUSTED_PROXIES: {
    schema: proxiesSetting.optional(),
    help: 'reverse proxies that say in X-Forwarded-For who asks: addresses or networks, comma-separated',
  },
  USER_REALTIME_SOCKETS: {
    schema: count(1, 2_000).default(20),
    help: '/realtime connections of one user at once; many tablets may share a key',
  },
  USER_DOWNLOADS: {
    schema: count(1, 1_000).default(4),
    help: 'histories longer than 200 records that one user reads at once',
  },
  USER_MQTT_CONNECTIONS: {
    schema: count(1, 100_000).default(20),
    help: 'MQTT connections of one user at once; many programs may share a key',
  },
  USER_MQTT_SESSIONS: {
    schema: count(1, 100_000).default(10),
    help: 'MQTT sessions (clean session 0) that are kept for one user',
  },
  USER_MQTT_SUBSCRIPTIONS: {
    schema: count(1, 1_000_000).default(200),
    help: 'MQTT subscriptions of one user, over all its connections and sessions',
  },
  MQTT_CONNECTIONS: { schema: count(1, 100_000).default(10_000), help: 'MQTT connections at once' },
  MQTT_CONNECTIONS_PER_ADDRESS: {
    schema: count(1, 100_000).default(2_500),
    help: 'MQTT connections at once from one address; a router may stand for a whole fleet',
  },
  MQTT_FAILED_LOGINS_PER_SECOND: {
    schema: count(0, 100_000).default(5),
    help: 'failed MQTT logins a second of one address or user name (20 times that at once) before wrong ones are answered late; 0 is no limit',
  },
  MQTT_MESSAGES_PER_SECOND: {
    schema: count(0, 1_000_000).default(500),
    help: 'sustained messages a second of one device or user (bursts of four times that), each sample and event in them counted; past it they wait, 0 is no limit',
  },
  MQTT_PACKET_BYTES: {
    schema: count(1_024, 1_048_576).default(65_536),
    help: 'largest MQTT payload; a larger one closes the connection',
  },
  MQTT_SLOW_READER_BYTES: {
    schema: count(65_536, 16_777_216).default(262_144),
    help: 'unread bytes after which a slow MQTT reader is cut off',
  },
  MQTT_IN_FLIGHT: {
    schema: count(1, 10_000).default(100),
    help: 'QoS 1 and 2 messages to or from a client that are not acknowledged yet, at once',
  },
  MQTT_QUEUE_MESSAGES: {
    schema: count(1, 50_000).default(1_000),
    help: 'messages that may wait for one client; then the oldest makes room',
  },
  MQTT_QUEUE_BYTES: {
    schema: count(65_536, 1_073_741_824).default(1_048_576),
    help: 'bytes that may wait for one client; then the oldest makes room',
  },
  MQTT_QUEUES_MESSAGES: {
    schema: count(1, 10_000_000).default(100_000),
    help: 'messages that may wait for all clients together; then the user or device that has most loses its oldest',
  },
  MQTT_QUEUES_BYTES: {
    schema: count(65_536, 17_179_869_184).default(67_108_864),
    help: 'bytes that may wait for all clients together; they are kept in memory too',
  },
  MQTT_RETAINED_MESSAGES: {
    schema: count(0, 10_000_000).default(10_000),
    help: 'retained messages outside dev/ and sit/; then the oldest makes room',
  },
  MQTT_RETAINED_BYTES: {
    schema: count(0, 17_179_869_184).default(16_777_216),
    help: 'bytes of retained messages outside dev/ and sit/',
  },
  MQTT_SESSION_DAYS: {
    schema: count(0, 3_650).default(30),
    help: 'days without a connection after which an MQTT session is forgotten; 0 never',
  },
  MQTT_SUBSCRIPTIONS: { schema: count(1, 100_000).default(100), help: 'subscriptions of one MQTT client' },
  MQTT_TOPIC_LEVELS: { schema: count(3, 100).default(12), help: 'levels of an MQTT topic' },
  MQTT_CONNECT_TIMEOUT_S: {
    schema: count(1, 300).default(10),
    help: 'seconds a new MQTT connection has to log in',
  },
  WRITE_QUEUE_ROWS: {
    schema: count(1_000, 1_000_000).default(5_000),
    help: 'rows waiting for the disk before devices are made to wait',
  },
  COMMIT_MS: {
    schema: count(0, 1_000).default(45),
    help: 'milliseconds between two transactions of messages while little comes: fewer bytes for the disk, later acknowledgements; 0 is none',
  },
  SEAL_SAMPLES: {
    schema: count(256, 100_000_000).default(32_768),
    help: 'samples in the log, or 128 a device if that is more, before they are put into blocks',
  },
  READER_THREADS: {
    schema: count(0, 64).default(0),
    help: 'threads for history reads; 0 is one less than there are cores',
  },
  RETENTION_DAYS: {
    schema: count(0, 3_650).default(400),
    help: 'days that positions and voltages are kept; 0 keeps them for ever',
  },
  EVENT_RETENTION_DAYS: {
    schema: count(0, 3_650).default(400),
    help: 'days that lock events, zone events, finished commands and the audit log are kept; 0 keeps them for ever',
  },
  DISK_BUDGET: {
    schema: bytesOrShare.default('80%'),
    help: 'bytes the data folder may use, or a share of its volume; past it, history a head office has goes first',
  },
  BACKUP_BEFORE_UPGRADE: {
    schema: z.enum(['true', 'false']).default('true'),
    help: 'keeps the database as it was before an upgrade changes it; false where there is no space for a second one',
  },
  BACKUP_TO: {
    schema: z.string().min(1).optional(),
    help: 'folder for a backup every night, best on another disk; under /media and /mnt a disk must be mounted there; or s3://BUCKET/PREFIX',
  },
  BACKUP_PASSPHRASE: {
    schema: z.string().min(8, { error: 'must have at least 8 characters' }).optional(),
    help: 'encrypts the nightly backups; without it nobody can read them, you included: keep it elsewhere too',
  },
  BACKUP_PASSPHRASE_FILE: secretFile('BACKUP_PASSPHRASE'),
  BACKUP_KEEP: { schema: count(1, 3_650).default(14), help: 'nightly backups that are kept' },
  BACKUP_HOUR: {
    schema: count(0, 23).default(3),
    help: 'hour of the nightly backup, by the time zone of the site',
  },
  BACKUP_REQUIRE_MOUNT: {
    schema: z.enum(['true', 'false']).default('false'),
    help: 'true refuses a folder for backups that is not on a disk of its own, wherever it is',
  },
  BACKUP_S3_ENDPOINT: {
    schema: z
      .string()
      .superRefine((text, context) => {
        const fault = s3EndpointFault(text)
        if (fault !== null) context.addIssue({ code: 'custom', message: fault })
      })
      .optional(),
    help: 'address of the store with the bucket of s3:// backups, as https://s3.example.com',
  },
  BACKUP_S3_REGION: {
    schema: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/, { error: 'must be the name of a region, as eu-central-1' })
      .default('us-east-1'),
    help: 'region of that bucket, where its store has regions',
  },
  BACKUP_S3_KEY_ID: {
    schema: z
      .string()
      .regex(/^[!-~]{1,200}$/, { error: 'must be a key as the store gave it, without spaces' })
      .regex(/\w/, { error: 'must be a key as the store gave it, without spaces' })
      .optional(),
    help: 'key of that store; it must be allowed to list, read, write and delete',
  },
  BACKUP_S3_SECRET: {
    schema: z.string().min(8, { error: 'must have at least 8 characters' }).optional(),
    help: 'secret of that key',
  },
  BACKUP_S3_SECRET_FILE: secretFile('BACKUP_S3_SECRET'),
  CLOCK_CONFIRMED_BY: {
    schema: witnesses.prefault(CLOCK_WITNESSES.join(',')),
    help: 'who confirms the clock after a start, so that locks and alerts may act by it; comma-separated; admin always does',
  },
  SMTP_URL: {
    schema: z
      .string()
      .refine(isMailServer, 'must be smtp://HOST or smtps://HOST, with user, password and port or not')
      .optional(),
    help: 'mail server for notifiers by e-mail, as smtps://user:password@mail.example; none without it',
  },
  SMTP_URL_FILE: secretFile('SMTP_URL'),
  SMTP_FROM: {
    schema: z
      .string()
      .regex(/^[^\p{C}]*[^\s@\p{C}]@[^\s@\p{C}]+$/u, {
        error: 'must be an e-mail address, with a name before it or not',
      })
      .optional(),
    help: 'whom e-mail of notifiers is from, as Golf carts <carts@club.example>',
  },
  TELEGRAM_URL: {
    schema: z
      .string()
      .refine(
        (text) => webUrlFault(text) === null,
        'must be an http:// or https:// address without a user in it',
      )
      .default('https://api.telegram.org'),
    help: 'where notifiers by Telegram are sent',
  },
  UPSTREAM_URL: {
    schema: z.string().min(1).optional(),
    help: 'https:// address of the head office this gateway is replicated to; none without it',
  },
  UPSTREAM_KEY: {
    schema: z
      .string()
      .regex(/^cbs_[a-z0-9-]{1,32}_[A-Za-z0-9_-]{43}$/, { error: 'must be a site key of the head office' })
      .optional(),
    help: 'the site key the head office has given out for this gateway',
  },
  UPSTREAM_KEY_FILE: secretFile('UPSTREAM_KEY'),
  SITE_ID: {
    schema: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/, { error: 'must be 1 to 32 lower-case letters, digits or hyphens' })
      .optional(),
    help: 'which site of the head office this gateway is',
  },
  UPSTREAM_INTENTS: {
    schema: z.enum(['none', 'config', 'all']).default('config'),
    help: 'what the head office may do here: none, config (all but commands to devices), or all',
  },
  UPSTREAM_INSECURE: {
    schema: z.enum(['true', 'false']).default('false'),
    help: 'true lets the site key and all data travel over plain http://, where anybody on the way can read them',
  },
  UPSTREAM_HOLD_MS: {
    schema: count(0, 60_000).default(6_500),
    help: 'milliseconds that new positions wait for others to go to the head office with; fewer are sooner there, and more bytes',
  },
  UPSTREAM_RETRY_S: {
    schema: count(1, 3_600).default(300),
    help: 'seconds between two attempts to reach a head office that does not answer, at most',
  },
} as const

type SettingName = keyof typeof SETTINGS
const NAMES = Object.keys(SETTINGS) as SettingName[]

const schema = z.strictObject(
  Object.fromEntries(NAMES.map((name) => [name, SETTINGS[name].schema])) as {
    [K in SettingName]: (typeof SETTINGS)[K]['schema']
  },
)

type Settings = z.infer<typeof schema>

/** How one gateway is to run; made by `readConfig`, or by a test. */
export interface Config {
  dataDir: string
  host: string
  httpPort: number
  /** Undefined: no MQTT without TLS. */
  mqttPort: number | undefined
  /** Undefined: no MQTT over TLS. */
  mqttsPort: number | undefined
  /** `isOfOwnAuthority`: made of the authority in the data folder. */
  tls: { certPath: string; keyPath: string; isOfOwnAuthority: boolean } | undefined
  /** HTTP beside HTTPS. */
  takesPlainHttp: boolean
  /** Announced on the local network. */
  isAnnounced: boolean
  adminApiKey: string | undefined
  /** `key` undefined: nobody enrols. */
  enrolment: { key: string | undefined; isAlways: boolean }
  logLevel: Settings['LOG_LEVEL']
  corsOrigins: string[]
  /** Without a slash at its end; undefined: what requests say, or this machine's own. */
  publicUrl: string | undefined
  requestsPerSecond: number
  httpSocketsPerAddress: number
  /** Undefined: whoever opens a connection asks for himself. */
  trustedProxies: BlockList | undefined
  userRealtimeSockets: number
  userDownloads: number
  userMqttConnections: number
  userMqttSessions: number
  userMqttSubscriptions: number
  mqttConnections: number
  mqttConnectionsPerAddress: number
  mqttFailedLoginsPerSecond: number
  mqttMessagesPerSecond: number
  mqttPacketBytes: number
  mqttSlowReaderBytes: number
  mqttInFlight: number
  mqttQueueMessages: number
  mqttQueueBytes: number
  mqttQueuesMessages: number
  mqttQueuesBytes: number
  mqttRetainedMessages: number
  mqttRetainedBytes: number
  mqttSessionDays: number
  mqttSubscriptions: number
  mqttTopicLevels: number
  mqttConnectTimeoutS: number
  writeQueueRows: number
  commitMs: number
  sealSamples: number
  readerThreads: number
  retentionDays: number
  eventRetentionDays: number
  diskBudget: DiskBudget
  backsUpBeforeUpgrade: boolean
  /** Undefined: no nightly backup. */
  backup: BackupSettings | undefined
  /** For backups to `s3://`, those of commands too. */
  backupS3: S3Settings | undefined
  /** Who may say that the clock is right; an admin always may. */
  clockConfirmedBy: readonly ClockWitness[]
  /** Undefined: no e-mail. */
  mail: MailSettings | undefined
  /** Without a slash at its end. */
  telegramUrl: string
  /** Which intents of the head office are applied. */
  upstreamIntents: Settings['UPSTREAM_INTENTS']
  /** Undefined: there is no head office. */
  upstream:
    | {
        url: string
        key: string
        siteId: string
        isInsecureAllowed: boolean
        holdMs: number
        longestBackoffMs: number
      }
    | undefined
}

/** Settings, by their names in the environment, with each secret that stands in a file: so a filter knows all of them. */
export function withSecretsOfFiles(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = SECRETS.map((name) => `${PREFIX}${name}`)
  return withSecretFiles(given, names, '').settings
}

/**
 * Reads the settings: `CARTBARN_*` of `environment`, over those of the file `filePath` (the same names,
 * with or without the prefix), over the defaults. Unknown names and bad values throw a `ConfigError` that lists all.
 */
export function readConfig(environment: Record<string, string | undefined>, filePath?: string): Config {
  const given: Record<string, unknown> = filePath === undefined ? {} : readFile(filePath)
  for (const [name, value] of Object.entries(environment)) {
    // compose files write an unset variable as an empty one
    if (isOurs(name) && value !== undefined && value !== '') given[name.slice(PREFIX.length)] = value
  }
  const { settings, faults } = withSecretFiles(given, SECRETS, PREFIX)
  const parsed = schema.safeParse(settings, { error: settingFault })
  const lines = [...faults, ...(parsed.error?.issues.map(describeIssue) ?? [])]
  if (!parsed.success || lines.length > 0) throw new ConfigError(lines.join('\n'))
  const s = parsed.data
  const contradictions = findContradictions(s)
  if (contradictions.length > 0) throw new ConfigError(contradictions.join('\n'))
  return {
    dataDir: s.DATA_DIR,
    host: s.HOST,
    httpPort: s.HTTP_PORT,
    mqttPort: s.MQTT_PORT === 'off' ? undefined : s.MQTT_PORT,
    mqttsPort: s.MQTTS_PORT,
    tls: tlsOf(s),
    takesPlainHttp: s.PLAIN_HTTP === 'on',
    isAnnounced: s.MDNS === 'on' && !isLoopback(s.HOST),
    adminApiKey: s.ADMIN_API_KEY,
    enrolment: { key: s.ENROLMENT_KEY, isAlways: s.ENROLMENT === 'always' },
    logLevel: s.LOG_LEVEL,
    corsOrigins: (s.CORS_ORIGINS ?? '')
      .split(',')
      .map((origin) => origin.trim())
      .filter((origin) => origin !== ''),
    publicUrl: s.PUBLIC_URL === undefined ? undefined : (publicOrigin(s.PUBLIC_URL) ?? undefined),
    requestsPerSecond: s.REQUESTS_PER_SECOND,
    httpSocketsPerAddress: s.HTTP_SOCKETS_PER_ADDRESS,
    trustedProxies: s.TRUSTED_PROXIES,
    userRealtimeSockets: s.USER_REALTIME_SOCKETS,
    userDownloads: s.USER_DOWNLOADS,
    userMqttConnections: s.USER_MQTT_CONNECTIONS,
    userMqttSessions: s.USER_MQTT_SESSIONS,
    userMqttSubscriptions: s.USER_MQTT_SUBSCRIPTIONS,
    mqttConnections: s.MQTT_CONNECTIONS,
    mqttConnectionsPerAddress: s.MQTT_CONNECTIONS_PER_ADDRESS,
    mqttFailedLoginsPerSecond: s.MQTT_FAILED_LOGINS_PER_SECOND,
    mqttMessagesPerSecond: s.MQTT_MESSAGES_PER_SECOND,
    mqttPacketBytes: s.MQTT_PACKET_BYTES,
    mqttSlowReaderBytes: s.MQTT_SLOW_READER_BYTES,
    mqttInFlight: s.MQTT_IN_FLIGHT,
    mqttQueueMessages: s.MQTT_QUEUE_MESSAGES,
    mqttQueueBytes: s.MQTT_QUEUE_BYTES,
    mqttQueuesMessages: s.MQTT_QUEUES_MESSAGES,
    mqttQueuesBytes: s.MQTT_QUEUES_BYTES,
    mqttRetainedMessages: s.MQTT_RETAINED_MESSAGES,
    mqttRetainedBytes: s.MQTT_RETAINED_BYTES,
    mqttSessionDays: s.MQTT_SESSION_DAYS,
    mqttSubscriptions: s.MQTT_SUBSCRIPTIONS,
    mqttTopicLevels: s.MQTT_TOPIC_LEVELS,
    mqttConnectTimeoutS: s.MQTT_CONNECT_TIMEOUT_S,
    writeQueueRows: s.WRITE_QUEUE_ROWS,
    commitMs: s.COMMIT_MS,
    sealSamples: s.SEAL_SAMPLES,
    readerThreads: s.READER_THREADS,
    retentionDays: s.RETENTION_DAYS,
    eventRetentionDays: s.EVENT_RETENTION_DAYS,
    diskBudget:
      typeof s.DISK_BUDGET === 'number'
        ? { kind: 'bytes', bytes: s.DISK_BUDGET }
        : { kind: 'share', percent: Number.parseInt(s.DISK_BUDGET, 10) },
    backsUpBeforeUpgrade: s.BACKUP_BEFORE_UPGRADE === 'true',
    backup:
      s.BACKUP_TO === undefined || s.BACKUP_PASSPHRASE === undefined
        ? undefined
        : {
            // a folder, whether it is there yet or not
            target: isS3Target(s.BACKUP_TO) ? s.BACKUP_TO : `${resolve(s.BACKUP_TO)}/`,
            passphrase: s.BACKUP_PASSPHRASE,
            keep: s.BACKUP_KEEP,
            hour: s.BACKUP_HOUR,
            mustBeMounted: s.BACKUP_REQUIRE_MOUNT === 'true',
            s3: backupS3Of(s),
          },
    backupS3: backupS3Of(s),
    clockConfirmedBy: s.CLOCK_CONFIRMED_BY,
    mail:
      s.SMTP_URL === undefined || s.SMTP_FROM === undefined
        ? undefined
        : { url: s.SMTP_URL, from: s.SMTP_FROM },
    telegramUrl: s.TELEGRAM_URL.replace(/\/+$/, ''),
    upstreamIntents: s.UPSTREAM_INTENTS,
    upstream:
      s.UPSTREAM_URL === undefined || s.UPSTREAM_KEY === undefined || s.SITE_ID === undefined
        ? undefined
        : {
            url: s.UPSTREAM_URL,
            key: s.UPSTREAM_KEY,
            siteId: s.SITE_ID,
            isInsecureAllowed: s.UPSTREAM_INSECURE === 'true',
            holdMs: s.UPSTREAM_HOLD_MS,
            longestBackoffMs: s.UPSTREAM_RETRY_S * 1000,
          },
  }
}

/** Settings whose values may be any text and tell nothing that others must not know. */
const OPEN_TEXTS = ['DATA_DIR', 'HOST', 'PUBLIC_URL', 'SITE_ID', 'TLS_CERT', 'TLS_KEY', 'TRUSTED_PROXIES']

/**
 * Whether the value of a setting may be shown to others: a number or one of some words, or a text of those that tell
 * nothing. A new setting that may be any text is hidden, and so is a value that is not valid.
 */
export function isOpenSetting(name: string, value: unknown): boolean {
  const key = NAMES.find((one) => PREFIX + one === name)
  if (key === undefined) return false
  const { schema } = SETTINGS[key]
  if (!schema.safeParse(value).success) return false
  return OPEN_TEXTS.includes(key) || !ANY_TEXTS.some((text) => schema.safeParse(text).success)
}

/** Texts of many forms, which no setting that is a number or one of some words takes. */
const ANY_TEXTS = [
  'flt_AnyText-0123456789_abcdefghijkl',
  'any-text-0123456789',
  'smtps://any:text@example.com',
  'https://any.example.com',
  'Any Text <any@example.com>',
  `cbs_any_${'a0B-'.repeat(11).slice(0, 43)}`,
]

/** One line per setting, for `--help`, `/docs` and docs/operation.md. */
export function describeSettings(): Setting[] {
  return NAMES.map((name) => describeSetting(PREFIX + name, SETTINGS[name]))
}

function isOurs(name: string): boolean {
  return name.startsWith(PREFIX) && !name.startsWith(HUB_PREFIX) && !COMMAND_VARIABLES.includes(name)
}

function readFile(path: string): Record<string, unknown> {
  const named = Object.entries(readSettingsFile(path))
  return Object.fromEntries(
    named.map(([name, value]) => [name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name, value]),
  )
}

function findContradictions(settings: Settings): string[] {
  const { MQTT_PORT, MQTTS_PORT, TLS_CERT, TLS_KEY } = settings
  const lines: string[] = []
  if ((TLS_CERT === undefined) !== (TLS_KEY === undefined)) {
    const [missing, given] = TLS_CERT === undefined ? ['TLS_CERT', 'TLS_KEY'] : ['TLS_KEY', 'TLS_CERT']
    lines.push(`${PREFIX}${missing}: is needed with ${PREFIX}${given}`)
  }
  if (
    MQTTS_PORT !== undefined &&
    TLS_CERT === undefined &&
    TLS_KEY === undefined &&
    tlsOf(settings) === undefined
  )
    lines.push(
      `${PREFIX}MQTTS_PORT: needs a certificate: "cartbarn tls init" makes one, or ${PREFIX}TLS_CERT and ${PREFIX}TLS_KEY name yours`,
    )
  if (settings.PLAIN_HTTP === 'off' && tlsOf(settings) === undefined)
    lines.push(`${PREFIX}PLAIN_HTTP: off needs a certificate, or no port would be left for browsers`)
  if (MQTT_PORT === 'off' && MQTTS_PORT === undefined)
    lines.push(`${PREFIX}MQTT_PORT: off needs ${PREFIX}MQTTS_PORT, or no port would be left for devices`)
  return [
    ...lines,
    ...findBackupContradictions(settings),
    ...findMailContradictions(settings),
    ...findUpstreamContradictions(settings),
  ]
}

function findBackupContradictions(settings: Settings): string[] {
  const { BACKUP_TO, BACKUP_PASSPHRASE } = settings
  const s3 = findS3Contradictions(settings)
  if (s3.length > 0) return s3
  if ((BACKUP_TO === undefined) === (BACKUP_PASSPHRASE === undefined)) return []
  const [missing, given] =
    BACKUP_TO === undefined ? ['BACKUP_TO', 'BACKUP_PASSPHRASE'] : ['BACKUP_PASSPHRASE', 'BACKUP_TO']
  return [`${PREFIX}${missing}: is needed with ${PREFIX}${given}`]
}

function findS3Contradictions(settings: Settings): string[] {
  const { BACKUP_TO, BACKUP_S3_ENDPOINT, BACKUP_S3_KEY_ID, BACKUP_S3_SECRET } = settings
  const together = { BACKUP_S3_ENDPOINT, BACKUP_S3_KEY_ID, BACKUP_S3_SECRET }
  const isTarget = BACKUP_TO !== undefined && isS3Target(BACKUP_TO)
  if (isTarget && s3AddressOf(BACKUP_TO) === null)
    return [`${PREFIX}BACKUP_TO: must be s3://BUCKET/PREFIX of letters, digits, dots, dashes and underscores`]
  const given = Object.entries(together).filter(([, value]) => value !== undefined)
  if (given.length === 0 && !isTarget) return []
  const names = isTarget ? 's3:// backups' : given.map(([name]) => PREFIX + name).join(' and ')
  return Object.entries(together)
    .filter(([, value]) => value === undefined)
    .map(([name]) => `${PREFIX}${name}: is needed with ${names}`)
}

function backupS3Of(settings: Settings): S3Settings | undefined {
  const { BACKUP_S3_ENDPOINT, BACKUP_S3_REGION, BACKUP_S3_KEY_ID, BACKUP_S3_SECRET } = settings
  if (BACKUP_S3_ENDPOINT === undefined || BACKUP_S3_KEY_ID === undefined || BACKUP_S3_SECRET === undefined)
    return undefined
  return {
    endpoint: BACKUP_S3_ENDPOINT,
    region: BACKUP_S3_REGION,
    keyId: BACKUP_S3_KEY_ID,
    secret: BACKUP_S3_SECRET,
  }
}

/** One's own certificate, else that of the authority in the data folder. */
function tlsOf({ DATA_DIR, TLS_CERT, TLS_KEY }: Settings): Config['tls'] {
  if (TLS_CERT !== undefined && TLS_KEY !== undefined)
    return { certPath: TLS_CERT, keyPath: TLS_KEY, isOfOwnAuthority: false }
  const { authorityPath, leafPath } = new AuthorityFolder(DATA_DIR)
  return existsSync(authorityPath)
    ? { certPath: leafPath, keyPath: leafPath, isOfOwnAuthority: true }
    : undefined
}

function findMailContradictions({ SMTP_URL, SMTP_FROM }: Settings): string[] {
  if ((SMTP_URL === undefined) === (SMTP_FROM === undefined)) return []
  const [missing, given] = SMTP_URL === undefined ? ['SMTP_URL', 'SMTP_FROM'] : ['SMTP_FROM', 'SMTP_URL']
  return [`${PREFIX}${missing}: is needed with ${PREFIX}${given}`]
}

function findUpstreamContradictions(settings: Settings): string[] {
  const { UPSTREAM_URL, UPSTREAM_KEY, SITE_ID, UPSTREAM_INSECURE } = settings
  const together = { UPSTREAM_URL, UPSTREAM_KEY, SITE_ID }
  const given = Object.entries(together).filter(([, value]) => value !== undefined)
  const lines: string[] = []
  if (given.length > 0) {
    const names = given.map(([name]) => PREFIX + name).join(' and ')
    for (const [name, value] of Object.entries(together))
      if (value === undefined) lines.push(`${PREFIX}${name}: is needed with ${names}`)
  }
  if (UPSTREAM_INSECURE === 'true' && UPSTREAM_URL === undefined)
    lines.push(`${PREFIX}UPSTREAM_INSECURE: means nothing without ${PREFIX}UPSTREAM_URL`)
  if (UPSTREAM_URL !== undefined) {
    const fault = upstreamUrlFault(UPSTREAM_URL, UPSTREAM_INSECURE === 'true')
    if (fault !== null) lines.push(`${PREFIX}UPSTREAM_URL: ${fault}`)
  }
  if (UPSTREAM_KEY !== undefined && SITE_ID !== undefined && !UPSTREAM_KEY.startsWith(`cbs_${SITE_ID}_`))
    lines.push(`${PREFIX}SITE_ID: is not the site that ${PREFIX}UPSTREAM_KEY was given out for`)
  return lines
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => unknownSettingFault(key, NAMES)).join('\n')
  return `${PREFIX}${issue.path.join('.')}: ${issue.message}`
}
