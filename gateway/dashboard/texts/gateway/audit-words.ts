import type { AuditAction } from '#shared/audit-actions.ts'
import { defineTexts } from '../texts.ts'

type NounOf<Action> = Action extends `${infer Noun}.${string}` ? Noun : never
type VerbOf<Action> = Action extends `${string}.${infer Verb}` ? Verb : never

interface AuditWords {
  nouns: Record<NounOf<AuditAction>, string>
  verbs: Record<VerbOf<AuditAction>, string>
}

const auditTexts = defineTexts<AuditWords>({
  en: {
    nouns: {
      access_request: 'Access for a tablet',
      alert: 'Alert',
      backup: 'Backup',
      cart: 'Cart',
      clock: 'Clock',
      command: 'Command',
      config: 'Configuration',
      course: 'Course',
      device: 'Device',
      device_type: 'Device type',
      enrolment: 'Enrolment of devices',
      erasure: 'Erasure of a person',
      group: 'Group',
      key: 'Key',
      machine: 'Machine',
      notifier: 'Notifier',
      pairing_code: 'Pairing code',
      person: 'Person at a tablet',
      pin: 'PIN',
      recall: 'All carts in',
      session: 'Signed-in tablet',
      site: 'Site settings',
      telemetry: 'History',
      user: 'User',
      webhook: 'Webhook',
      zones: 'Zones',
    },
    verbs: {
      acknowledged: 'acknowledged',
      allowed: 'allowed',
      closed: 'closed',
      confirmed: 'confirmed',
      created: 'created',
      deleted: 'deleted',
      imported: 'imported',
      locked: 'locked after wrong tries',
      opened: 'opened',
      password_issued: 'password issued',
      password_rotated: 'password replaced',
      photo_deleted: 'photo deleted',
      photo_updated: 'photo changed',
      purged: 'old part deleted',
      rotated: 'replaced',
      started: 'started',
      switched: 'switched on or off',
      tested: 'tried',
      token_replaced: 'token replaced',
      updated: 'changed',
      withdrawn: 'withdrawn',
    },
  },
  de: {
    nouns: {
      access_request: 'Zugang für ein Tablet',
      alert: 'Alarm',
      backup: 'Sicherung',
      cart: 'Cart',
      clock: 'Uhr',
      command: 'Befehl',
      config: 'Konfiguration',
      course: 'Platz',
      device: 'Gerät',
      device_type: 'Gerätetyp',
      enrolment: 'Anmeldung von Geräten',
      erasure: 'Löschung einer Person',
      group: 'Gruppe',
      key: 'Schlüssel',
      machine: 'Rechner',
      notifier: 'Benachrichtigung',
      pairing_code: 'Kopplungscode',
      person: 'Person am Tablet',
      pin: 'PIN',
      recall: 'Alle Carts zurück',
      session: 'Angemeldetes Tablet',
      site: 'Einstellungen des Platzes',
      telemetry: 'Verlauf',
      user: 'Benutzer',
      webhook: 'Webhook',
      zones: 'Zonen',
    },
    verbs: {
      acknowledged: 'gesehen',
      allowed: 'erlaubt',
      closed: 'geschlossen',
      confirmed: 'bestätigt',
      created: 'angelegt',
      deleted: 'gelöscht',
      imported: 'eingelesen',
      locked: 'nach falschen Versuchen gesperrt',
      opened: 'geöffnet',
      password_issued: 'Passwort ausgegeben',
      password_rotated: 'Passwort ersetzt',
      photo_deleted: 'Foto gelöscht',
      photo_updated: 'Foto geändert',
      purged: 'alter Teil gelöscht',
      rotated: 'ersetzt',
      started: 'begonnen',
      switched: 'ein- oder ausgeschaltet',
      tested: 'ausprobiert',
      token_replaced: 'Token ersetzt',
      updated: 'geändert',
      withdrawn: 'zurückgenommen',
    },
  },
})

/** Texts of an action in place of its noun and verb; `of` is its subject. */
const phraseTexts = defineTexts({
  en: {
    'command.created': (of: string) => `Sent to a cart: ${of}`,
    'command.withdrawn': (of: string) => `Withdrew a command: ${of}`,
    'person.created': (of: string) => `Gave a PIN on a tablet: ${of}`,
    'person.deleted': (of: string) => `Stopped acting on a tablet: ${of}`,
    'recall.created': (of: string) => `Called all carts in: ${of}`,
    'recall.deleted': (of: string) => `Ended “All carts in”: ${of}`,
    'session.created': (of: string) => `Tablet signed in: ${of}`,
    'session.deleted': (of: string) => `Tablet signed out: ${of}`,
  },
  de: {
    'command.created': (of: string) => `An ein Cart gesendet: ${of}`,
    'command.withdrawn': (of: string) => `Befehl zurückgenommen: ${of}`,
    'person.created': (of: string) => `PIN am Tablet eingegeben: ${of}`,
    'person.deleted': (of: string) => `Am Tablet aufgehört: ${of}`,
    'recall.created': (of: string) => `Alle Carts zurückgerufen: ${of}`,
    'recall.deleted': (of: string) => `„Alle Carts zurück“ beendet: ${of}`,
    'session.created': (of: string) => `Tablet angemeldet: ${of}`,
    'session.deleted': (of: string) => `Tablet abgemeldet: ${of}`,
  },
})

interface AuditedAct {
  action: string
  target: string
  before: Readonly<Record<string, unknown>> | null
  after: Readonly<Record<string, unknown>> | null
}

/** Describes an action of a user: `name` returns the name of an id, or the id if it has none. */
export function auditSentence({ action, target, before, after }: AuditedAct, name: (id: string) => string): string {
  const phrases: Readonly<Record<string, (of: string) => string>> = phraseTexts()
  const phrase = phrases[action]
  const fields = { ...before, ...after }
  const part = (key: string) => (typeof fields[key] === 'string' ? [name(String(fields[key]))] : [])
  const parts = action.startsWith('command.')
    ? [...part('command'), ...part('hardware_id')]
    : [...part('name'), ...(action.startsWith('recall.') ? part('text') : [])]
  const of = parts.length === 0 ? name(target) : parts.join(', ')
  return phrase === undefined ? `${auditWords(action)} ${of}` : phrase(of)
}

/** `user.updated` in words; as it is where it has none. */
export function auditWords(action: string): string {
  const { nouns, verbs }: Record<keyof AuditWords, Readonly<Record<string, string>>> = auditTexts()
  const [noun = '', verb = ''] = action.split('.')
  const [of, what] = [nouns[noun], verbs[verb]]
  return of === undefined || what === undefined ? action : `${of}: ${what}`
}
