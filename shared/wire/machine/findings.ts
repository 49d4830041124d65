// Faults that both a running gateway and `cartbarn doctor` find, each with its texts and remedy. Checks that only make
// sense from outside the gateway are in doctor alone.

/** Actions of the gateway itself about a finding, at the request of an admin. */
export const REPAIR_ACTIONS = [
  'accept_loss',
  'back_up',
  'confirm_clock',
  'confirm_machine',
  'renew_certificate',
  'send_test',
] as const
export type RepairAction = (typeof REPAIR_ACTIONS)[number]

/** Severity: only `wrong` makes `cartbarn doctor` exit with 1. */
export type FindingLevel = 'mind' | 'wrong'

/** Subject in one or two words; the fault, with `{name}` for a value; the command to type, or other remedy. */
type FindingTexts = readonly [about: string, message: string, todo: string]

interface FindingKind {
  level: FindingLevel
  action?: RepairAction
  /** Page of the app that shows more, below More. */
  page?: string
  en: FindingTexts
  de: FindingTexts
}

/** Values of a finding by name. A name that ends with `_at` is a time as ISO 8601. */
export type FindingValues = Readonly<Record<string, string | number>>

const REPAIR = 'stop the gateway, then: cartbarn repair; see docs/when-something-is-wrong.md, Something is damaged'
const REPAIR_DE = 'Gateway anhalten, dann: cartbarn repair'
const BACKUP = 'cartbarn backup {target} shows the reason; see docs/backup.md, Backup'
const BACKUP_DE = 'cartbarn backup {target} zeigt den Grund'
const TLS = 'see docs/security.md, TLS'
const TLS_DE = 'cartbarn tls init; Hilfe: Sicherheit, TLS'

export const FINDINGS = {
  store_unusable: {
    level: 'wrong',
    page: 'storage',
    en: [
      'database',
      'the gateway cannot store anything ({detail})',
      'see docs/when-something-is-wrong.md, The disk is full or gone',
    ],
    de: ['Datenbank', 'Das Gateway kann nichts speichern ({detail})', 'df -h; sudo dmesg | tail -30'],
  },
  machine_other: {
    level: 'wrong',
    action: 'confirm_machine',
    en: [
      'machine',
      'the data was used on another machine: until you decide, nothing is sent to the hub and no nightly backup is ' +
        'made',
      'the same course on a new machine: confirm it in the app, or stop the gateway and type cartbarn new-site ' +
        '--same-course; a copy for another course: stop it and type cartbarn new-site --yes',
    ],
    de: [
      'Rechner',
      'Die Daten stammen von einem anderen Rechner: bis zur Entscheidung ruhen Abgleich und Sicherungen',
      'Derselbe Platz: hier bestätigen. Kopie für einen anderen: Gateway anhalten, dann cartbarn new-site --yes',
    ],
  },
  clock_unconfirmed: {
    level: 'mind',
    action: 'confirm_clock',
    en: ['clock', 'not confirmed: the gateway locks nothing automatically', 'confirm it in the app: More, Repairs'],
    de: ['Uhr', 'Nicht bestätigt: nichts wird automatisch gesperrt', 'Hier bestätigen oder: timedatectl'],
  },
  disk_filling: {
    level: 'mind',
    page: 'storage',
    en: ['disk', '{percent} % of the disk budget is used', 'see docs/operation.md, The data folder'],
    de: ['Speicher', '{percent} % des Speicherbudgets sind belegt', 'df -h; CARTBARN_RETENTION_DAYS verkürzen'],
  },
  damage_repaired: {
    level: 'mind',
    action: 'accept_loss',
    page: 'damage',
    en: ['database', '{place}: {detail}', 'watch the disk'],
    de: ['Datenbank', '{place}: Schaden behoben, nichts fehlt', 'Speicher beobachten'],
  },
  damage_lost: {
    level: 'wrong',
    action: 'accept_loss',
    page: 'damage',
    en: ['database', '{place}: {detail}', REPAIR],
    de: ['Datenbank', '{place}: Daten sind endgültig verloren', REPAIR_DE],
  },
  damage_open: {
    level: 'wrong',
    page: 'damage',
    en: ['database', '{place}: {detail}', REPAIR],
    de: ['Datenbank', '{place}: beschädigt; Lesbares wird weiter genutzt', REPAIR_DE],
  },
  telemetry_damaged: {
    level: 'wrong',
    page: 'damage',
    en: ['database', 'damaged blocks of telemetry: {blocks}', REPAIR],
    de: ['Datenbank', 'Beschädigte Blöcke des Verlaufs: {blocks}', REPAIR_DE],
  },
  upgrade_undone: {
    level: 'mind',
    en: [
      'upgrade',
      '{from} could not run, and {to} has run again since {since_at} ({reason})',
      'see docs/when-something-is-wrong.md, After an upgrade',
    ],
    de: [
      'Update',
      '{from} startete nicht, {to} läuft wieder seit {since_at} ({reason})',
      'journalctl -u cartbarn; Hilfe: Nach einem Update',
    ],
  },
  backup_none: {
    level: 'mind',
    page: 'backups',
    en: [
      'backups',
      'no nightly backups: data that is only on this machine is lost with its disk',
      'insert a USB stick, set CARTBARN_BACKUP_TO and CARTBARN_BACKUP_PASSPHRASE_FILE; or regularly: cartbarn backup ' +
        'FILE; see docs/backup.md, Backup',
    ],
    de: [
      'Sicherungen',
      'Keine nächtlichen Sicherungen: fällt der Speicher aus, sind die Daten verloren',
      'USB-Stick einstecken, CARTBARN_BACKUP_TO und CARTBARN_BACKUP_PASSPHRASE_FILE setzen; oder: cartbarn backup ' +
        'DATEI',
    ],
  },
  backup_first: {
    level: 'mind',
    action: 'back_up',
    page: 'backups',
    en: ['backups', 'none yet in {target}', 'the gateway makes one every night: start it, then check /health'],
    de: ['Sicherungen', 'Noch keine in {target}', 'Das Gateway macht jede Nacht eine'],
  },
  backup_never: {
    level: 'wrong',
    action: 'back_up',
    page: 'backups',
    en: ['backups', 'no good one in {target} since {since_at}', BACKUP],
    de: ['Sicherungen', 'Keine gelungene in {target} seit {since_at}', BACKUP_DE],
  },
  backup_overdue: {
    level: 'wrong',
    action: 'back_up',
    page: 'backups',
    en: ['backups', 'last good one in {target}: {last_at}', BACKUP],
    de: ['Sicherungen', 'Letzte gelungene in {target}: {last_at}', BACKUP_DE],
  },
  backup_same_disk: {
    level: 'mind',
    page: 'backups',
    en: [
      'backups',
      '{target} is on the disk of the data: a backup next to the database does not survive its loss',
      'set CARTBARN_BACKUP_TO to a folder on another disk, such as a USB stick; see docs/backup.md, Backup',
    ],
    de: [
      'Sicherungen',
      '{target} liegt auf dem Speicher der Daten: mit ihm ist auch die Sicherung verloren',
      'CARTBARN_BACKUP_TO auf einen anderen Speicher setzen, etwa einen USB-Stick',
    ],
  },
  certificate_none: {
    level: 'mind',
    page: 'encryption',
    en: ['certificate', 'none: others on the network can read keys and positions', TLS],
    de: ['Zertifikat', 'Keines: andere im Netz können Schlüssel und Positionen lesen', TLS_DE],
  },
  certificate_expired: {
    level: 'wrong',
    page: 'encryption',
    en: ['certificate', 'expired on {until_at}', `renew it; ${TLS}`],
    de: ['Zertifikat', 'Abgelaufen am {until_at}', `Erneuern; ${TLS_DE}`],
  },
  certificate_ends: {
    level: 'mind',
    page: 'encryption',
    en: ['certificate', 'expires on {until_at}', `renew it; ${TLS}`],
    de: ['Zertifikat', 'Läuft ab am {until_at}', `Erneuern; ${TLS_DE}`],
  },
  certificate_not_renewed: {
    level: 'wrong',
    action: 'renew_certificate',
    page: 'encryption',
    en: ['certificate', 'valid until {until_at}, and cannot be renewed: {detail}', TLS],
    de: ['Zertifikat', 'Gültig bis {until_at}, Erneuern gelingt nicht: {detail}', TLS_DE],
  },
  plain_http: {
    level: 'mind',
    page: 'encryption',
    en: [
      'plain HTTP',
      '{count} used it since the gateway was started: {names}',
      'leave CARTBARN_PLAIN_HTTP on until they use https://; see docs/security.md, TLS',
    ],
    de: [
      'HTTP ohne TLS',
      '{count} nutzten es seit dem Start: {names}',
      'CARTBARN_PLAIN_HTTP anlassen, bis alle https:// nutzen',
    ],
  },
  plain_mqtt: {
    level: 'mind',
    page: 'mqtt',
    en: [
      'MQTT',
      '{count} still use it without TLS: {names}',
      'leave that port open until they use CARTBARN_MQTTS_PORT; see docs/security.md, TLS',
    ],
    de: [
      'MQTT',
      '{count} nutzen es noch ohne TLS: {names}',
      'Den Port offen lassen, bis alle CARTBARN_MQTTS_PORT nutzen',
    ],
  },
  sync_stopped: {
    level: 'wrong',
    page: 'sync',
    en: ['hub', 'the sync with {host} has stopped ({state})', 'see docs/head-office.md, Status'],
    de: ['Zentrale', 'Der Abgleich mit {host} steht ({state})', 'sudo cartbarn doctor'],
  },
  recipient_failing: {
    level: 'wrong',
    action: 'send_test',
    page: 'notify',
    en: ['alerts', 'the last message to {recipient} failed: {detail}', 'see docs/alerts.md, Notifiers'],
    de: ['Alarme', 'Letzte Nachricht an {recipient} kam nicht an: {detail}', 'Empfänger prüfen'],
  },
} as const satisfies Record<string, FindingKind>

export type FindingCode = keyof typeof FINDINGS

export function findingKind(code: FindingCode): FindingKind {
  return FINDINGS[code]
}

/** Description of a finding in a language; `show` formats its values. */
export function describeFinding(
  code: FindingCode,
  values: FindingValues,
  language: 'en' | 'de' = 'en',
  show: (name: string, value: string | number) => string = (_, value) => String(value),
): { about: string; message: string; todo: string } {
  const fill = (text: string) =>
    text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values[name]
      return value === undefined ? whole : show(name, value)
    })
  const [about, message, todo] = FINDINGS[code][language]
  return { about, message: fill(message), todo: fill(todo) }
}

/** Codes of damage by the outcome of its repair. */
export const DAMAGE_CODES = {
  mended: 'damage_repaired',
  lost: 'damage_lost',
  set_aside: 'damage_open',
  unreadable: 'damage_open',
} as const satisfies Record<string, FindingCode>

/** Values of `upgrade_undone`. */
export function undoneValues(undone: { from: string; to: string; atMs: number; reason: string }): FindingValues {
  const { from, to, atMs, reason } = undone
  return { from, to, since_at: new Date(atMs).toISOString(), reason }
}

/** Maximum number of clients that a finding names. */
const NAMES_SHOWN = 20

/** Count and names of clients, for a finding. */
export function namesValues(names: readonly string[]): { count: number; names: string } {
  const more = names.length > NAMES_SHOWN ? ` + ${names.length - NAMES_SHOWN}` : ''
  return { count: names.length, names: `${names.slice(0, NAMES_SHOWN).join(', ')}${more}` }
}
