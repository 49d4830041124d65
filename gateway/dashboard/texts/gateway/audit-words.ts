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
      access_request: 'Access request',
      alert: 'Alert',
      backup: 'Backup',
      cart: 'Cart',
      clock: 'Clock',
      command: 'Command',
      config: 'Settings',
      course: 'Course map',
      device: 'Device',
      device_type: 'Device type',
      enrolment: 'Device enrolment',
      erasure: 'Erasure of personal data',
      group: 'Group',
      key: 'Key',
      machine: 'Gateway computer',
      notifier: 'Recipient',
      pairing_code: 'Pairing code',
      person: 'PIN sign-in',
      pin: 'PIN',
      recall: 'Recall',
      session: 'Tablet sign-in',
      site: 'Course settings',
      telemetry: 'History',
      user: 'User',
      webhook: 'Webhook',
      zones: 'Zones',
    },
    verbs: {
      acknowledged: 'acknowledged',
      allowed: 'approved',
      closed: 'closed',
      confirmed: 'confirmed',
      created: 'created',
      deleted: 'deleted',
      imported: 'imported',
      locked: 'locked after wrong attempts',
      not_restored: 'not restored',
      opened: 'opened',
      password_issued: 'password issued',
      password_rotated: 'password replaced',
      photo_deleted: 'photo deleted',
      photo_updated: 'photo changed',
      purged: 'old data deleted',
      restored: 'restored',
      rotated: 'replaced',
      started: 'started',
      switched: 'switched on or off',
      tested: 'tested',
      token_replaced: 'token replaced',
      updated: 'changed',
      withdrawn: 'cancelled',
    },
  },
  de: {
    nouns: {
      access_request: 'Zugangsanfrage',
      alert: 'Alarm',
      backup: 'Sicherung',
      cart: 'Cart',
      clock: 'Uhr',
      command: 'Befehl',
      config: 'Einstellungen',
      course: 'Platzkarte',
      device: 'Gerät',
      device_type: 'Gerätetyp',
      enrolment: 'Geräteregistrierung',
      erasure: 'Löschung von Personendaten',
      group: 'Gruppe',
      key: 'Schlüssel',
      machine: 'Gateway-Rechner',
      notifier: 'Empfänger',
      pairing_code: 'Kopplungscode',
      person: 'PIN-Anmeldung',
      pin: 'PIN',
      recall: 'Rückruf',
      session: 'Tablet-Anmeldung',
      site: 'Platzeinstellungen',
      telemetry: 'Verlauf',
      user: 'Benutzer',
      webhook: 'Webhook',
      zones: 'Zonen',
    },
    verbs: {
      acknowledged: 'bestätigt',
      allowed: 'zugelassen',
      closed: 'geschlossen',
      confirmed: 'bestätigt',
      created: 'erstellt',
      deleted: 'gelöscht',
      imported: 'importiert',
      locked: 'nach Fehlversuchen gesperrt',
      not_restored: 'nicht zurückgespielt',
      opened: 'geöffnet',
      password_issued: 'Passwort ausgegeben',
      password_rotated: 'Passwort ersetzt',
      photo_deleted: 'Foto gelöscht',
      photo_updated: 'Foto geändert',
      purged: 'alte Daten gelöscht',
      restored: 'zurückgespielt',
      rotated: 'ersetzt',
      started: 'gestartet',
      switched: 'ein- oder ausgeschaltet',
      tested: 'getestet',
      token_replaced: 'Token ersetzt',
      updated: 'geändert',
      withdrawn: 'abgebrochen',
    },
  },
})

/** Texts of an action in place of its noun and verb; `of` is its subject. */
const phraseTexts = defineTexts({
  en: {
    'command.created': (of: string) => `Sent to a cart: ${of}`,
    'command.withdrawn': (of: string) => `Cancelled a command: ${of}`,
    'person.created': (of: string) => `Signed in with a PIN: ${of}`,
    'person.deleted': (of: string) => `Signed out PIN: ${of}`,
    'recall.created': (of: string) => `Recalled all carts: ${of}`,
    'recall.deleted': (of: string) => `Ended recall: ${of}`,
    'session.created': (of: string) => `Tablet signed in: ${of}`,
    'session.deleted': (of: string) => `Tablet signed out: ${of}`,
  },
  de: {
    'command.created': (of: string) => `An ein Cart gesendet: ${of}`,
    'command.withdrawn': (of: string) => `Befehl abgebrochen: ${of}`,
    'person.created': (of: string) => `Mit PIN angemeldet: ${of}`,
    'person.deleted': (of: string) => `PIN abgemeldet: ${of}`,
    'recall.created': (of: string) => `Alle Carts zurückgerufen: ${of}`,
    'recall.deleted': (of: string) => `Rückruf beendet: ${of}`,
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
