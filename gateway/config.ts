import { ConfigError } from '#shared/errors.ts'
import { withSecretFiles } from '#shared/files/secret-files.ts'
import { type FieldsOf, PREFIX, type Setting, SettingTable } from '#shared/wire/settings.ts'
import { MQTT } from './mqtt-settings.ts'
import { NETWORK, networkFaults, networkOf } from './network-settings.ts'
import { REMOTE, remoteFaults, remoteOf } from './remote-settings.ts'
import { readSettingsFile } from './settings-file.ts'
import { STORAGE, storageFaults, storageOf } from './storage-settings.ts'

/** Prefix of the settings of the hub, which may run on the same host. */
const HUB_PREFIX = 'CARTBARN_HUB_'
/** Variables that commands read from the same environment. */
const COMMAND_VARIABLES = ['CARTBARN_API_KEY', 'CARTBARN_CONFIG', 'CARTBARN_RELEASE_KEYS', 'CARTBARN_RELEASE_KEY_FILE']
/** Secrets, which may also be in files. */
const SECRETS = ['ADMIN_API_KEY', 'ENROLMENT_KEY', 'SMTP_URL', 'UPSTREAM_KEY', 'BACKUP_PASSPHRASE', 'BACKUP_S3_SECRET']

/** Settings, in the order in which they are listed. */
const SETTINGS = { ...NETWORK, ...MQTT, ...STORAGE, ...REMOTE }
const table = new SettingTable(SETTINGS, PREFIX)

/** Configuration of one gateway; made by `readConfig`, or by a test. */
export type Config = FieldsOf<typeof SETTINGS> &
  ReturnType<typeof networkOf> &
  ReturnType<typeof storageOf> &
  ReturnType<typeof remoteOf>

/** Settings by their names in the environment, with each secret read from a file, so that a filter knows them all. */
export function withSecretsOfFiles(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = SECRETS.map((name) => `${PREFIX}${name}`)
  return withSecretFiles(given, names, '').settings
}

/**
 * Reads the settings: `CARTBARN_*` of `environment`, over those of the file `filePath` (the same names, with or without
 * the prefix), over the defaults. Throws a `ConfigError` that lists all unknown names and invalid values.
 */
export function readConfig(environment: Record<string, string | undefined>, filePath?: string): Config {
  const given: Record<string, unknown> = filePath === undefined ? {} : readFile(filePath)
  for (const [name, value] of Object.entries(environment)) {
    // compose files write an unset variable as an empty one
    if (isOurs(name) && value !== undefined && value !== '') given[name.slice(PREFIX.length)] = value
  }
  const { settings, faults } = withSecretFiles(given, SECRETS, PREFIX)
  const values = table.parse(settings, faults)
  const contradictions = [...networkFaults(values), ...storageFaults(values), ...remoteFaults(values)]
  if (contradictions.length > 0) throw new ConfigError(contradictions.join('\n'))
  return { ...table.fieldsOf(values), ...networkOf(values), ...storageOf(values), ...remoteOf(values) }
}

/** Text settings that contain no secrets. */
const OPEN_TEXTS = ['DATA_DIR', 'HOST', 'PUBLIC_URL', 'SITE_ID', 'TLS_CERT', 'TLS_KEY', 'TRUSTED_PROXIES']

/**
 * True if the value of a setting may be shown: a number, an enumerated value, or a text without secrets. New text
 * settings are hidden by default, and so are invalid values.
 */
export function isOpenSetting(name: string, value: unknown): boolean {
  const [key, rule] = Object.entries(SETTINGS).find(([one]) => PREFIX + one === name) ?? []
  if (rule === undefined || key === undefined) return false
  const { schema } = rule
  if (!schema.safeParse(value).success) return false
  return OPEN_TEXTS.includes(key) || !ANY_TEXTS.some((text) => schema.safeParse(text).success)
}

/** Texts of many forms, none of which a numeric or enumerated setting accepts. */
const ANY_TEXTS = [
  'flt_AnyText-0123456789_abcdefghijkl',
  'any-text-0123456789',
  'smtps://any:text@example.com',
  'https://any.example.com',
  'Any Text <any@example.com>',
  `cbs_any_${'a0B-'.repeat(11).slice(0, 43)}`,
]

/** Returns one line per setting, for `--help`, `/docs` and docs/settings.md. */
export function describeSettings(): Setting[] {
  return table.describe()
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
