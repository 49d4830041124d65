import type { AuditAction } from '#shared/audit-actions.ts'
import { defineTexts } from '../texts.ts'

type NounOf<Action> = Action extends `${infer Noun}.${string}` ? Noun : never
type VerbOf<Action> = Action extends `${string}.${infer Verb}` ? Verb : never

interface AuditTexts {
  /** Object of an action by its noun, with its name. */
  nouns: Record<NounOf<AuditAction>, (of: string) => string>
  verbs: Record<VerbOf<AuditAction>, (object: string) => string>
  /** Commands to a cart, and actions that a noun and a verb do not describe. */
  acts: Readonly<Record<string, (of: string) => string>>
  other: (command: string) => (of: string) => string
  sentence: (who: string, act: string, tablet: string | null) => string
  gateway: string
  headOffice: string
  forced: string
}

const auditTexts = defineTexts<AuditTexts>({
  en: {
    nouns: {
      access_request: (of) => `access request ${of}`,
      alert: (of) => `alert ${of}`,
      backup: () => 'a backup',
      cart: (of) => of,
      certificate: () => 'the certificate',
      clock: () => 'the clock',
      command: (of) => `a command ${of}`,
      config: (of) => `settings of ${of}`,
      course: () => 'the course map',
      damage: () => 'the permanent losses',
      device: (of) => `device ${of}`,
      device_type: (of) => `device type ${of}`,
      enrolment: () => 'enrolment of devices',
      erasure: () => 'personal data',
      group: (of) => `group ${of}`,
      key: (of) => `the key of ${of}`,
      machine: () => 'the gateway computer',
      mail_report: () => 'a report by e-mail',
      message: () => 'a message',
      notifier: (of) => `recipient ${of}`,
      party: (of) => `party ${of}`,
      pairing_code: (of) => `a pairing code for ${of}`,
      person: (of) => of,
      pin: (of) => `the PIN of ${of}`,
      recall: () => 'the recall',
      service_entry: () => 'an entry of the service book',
      service_plan: () => 'a service plan',
      session: (of) => of,
      site: () => 'the course settings',
      telemetry: (of) => `history of ${of}`,
      texts: () => 'the ready texts',
      user: (of) => `person ${of}`,
      webhook: (of) => `webhook ${of}`,
      zones: () => 'zones',
    },
    verbs: {
      accepted: (it) => `accepted ${it}`,
      acknowledged: (it) => `acknowledged ${it}`,
      allowed: (it) => `approved ${it}`,
      closed: (it) => `closed ${it}`,
      confirmed: (it) => `confirmed ${it}`,
      created: (it) => `added ${it}`,
      deleted: (it) => `deleted ${it}`,
      imported: (it) => `imported ${it}`,
      locked: (it) => `locked ${it} after wrong attempts`,
      opened: (it) => `opened ${it}`,
      password_issued: (it) => `issued a password for ${it}`,
      password_rotated: (it) => `replaced the password of ${it}`,
      photo_deleted: (it) => `deleted the photo of ${it}`,
      photo_updated: (it) => `changed the photo of ${it}`,
      purged: (it) => `deleted old ${it}`,
      renewed: (it) => `renewed ${it}`,
      rotated: (it) => `replaced ${it}`,
      started: (it) => `started ${it}`,
      switched: (it) => `switched ${it} on or off`,
      tested: (it) => `tested ${it}`,
      token_replaced: (it) => `replaced the token of ${it}`,
      updated: (it) => `changed ${it}`,
      withdrawn: (it) => `cancelled ${it}`,
      not_restored: (it) => `could not restore ${it}`,
      restored: (it) => `restored ${it}`,
    },
    acts: {
      lock: (of) => `locked ${of}`,
      unlock: (of) => `unlocked ${of}`,
      beep: (of) => `made ${of} beep`,
      message: (of) => `sent a message to ${of}`,
      'access_request.created': (of) => `requested access as “${of}”`,
      'access_request.deleted': () => 'rejected an access request',
      'erasure.created': () => 'erased personal data',
      'message.created': (of) => `sent “${of}” to carts`,
      'person.created': () => 'gave the PIN',
      'person.deleted': () => 'signed out with the PIN',
      'recall.created': (of) => `called all carts in: “${of}”`,
      'recall.deleted': () => 'ended the recall',
      'session.created': (of) => `signed in “${of}”`,
      'session.deleted': (of) => `signed out “${of}”`,
    },
    other: (command) => (of) => `sent “${command}” to ${of}`,
    sentence: (who, act, tablet) => `${who} ${act}${tablet === null ? '' : ` on “${tablet}”`}`,
    gateway: 'The gateway',
    headOffice: 'Head office',
    forced: 'anyway',
  },
  de: {
    nouns: {
      access_request: (of) => `Zugangsanfrage ${of}`,
      alert: (of) => `Alarm ${of}`,
      backup: () => 'eine Sicherung',
      cart: (of) => of,
      certificate: () => 'das Zertifikat',
      clock: () => 'die Uhr',
      command: (of) => `einen Befehl ${of}`,
      config: (of) => `Einstellungen von ${of}`,
      course: () => 'die Platzkarte',
      damage: () => 'die endgültigen Verluste',
      device: (of) => `Gerät ${of}`,
      device_type: (of) => `Gerätetyp ${of}`,
      enrolment: () => 'die Geräteregistrierung',
      erasure: () => 'Personendaten',
      group: (of) => `Gruppe ${of}`,
      key: (of) => `den Schlüssel von ${of}`,
      machine: () => 'den Gateway-Rechner',
      mail_report: () => 'einen Bericht per E-Mail',
      message: () => 'eine Nachricht',
      notifier: (of) => `Empfänger ${of}`,
      party: (of) => `Flight ${of}`,
      pairing_code: (of) => `einen Kopplungscode für ${of}`,
      person: (of) => of,
      pin: (of) => `die PIN von ${of}`,
      recall: () => 'den Rückruf',
      service_entry: () => 'einen Eintrag im Wartungsbuch',
      service_plan: () => 'einen Wartungsplan',
      session: (of) => of,
      site: () => 'die Platzeinstellungen',
      telemetry: (of) => `Verlauf von ${of}`,
      texts: () => 'die fertigen Texte',
      user: (of) => `Person ${of}`,
      webhook: (of) => `Webhook ${of}`,
      zones: () => 'Zonen',
    },
    verbs: {
      accepted: (it) => `${it} akzeptiert`,
      acknowledged: (it) => `${it} bestätigt`,
      allowed: (it) => `${it} zugelassen`,
      closed: (it) => `${it} geschlossen`,
      confirmed: (it) => `${it} bestätigt`,
      created: (it) => `${it} hinzugefügt`,
      deleted: (it) => `${it} gelöscht`,
      imported: (it) => `${it} importiert`,
      locked: (it) => `${it} nach Fehlversuchen gesperrt`,
      opened: (it) => `${it} geöffnet`,
      password_issued: (it) => `ein Passwort für ${it} ausgegeben`,
      password_rotated: (it) => `das Passwort von ${it} ersetzt`,
      photo_deleted: (it) => `das Foto für ${it} gelöscht`,
      photo_updated: (it) => `das Foto für ${it} geändert`,
      purged: (it) => `alten ${it} gelöscht`,
      renewed: (it) => `${it} erneuert`,
      rotated: (it) => `${it} ersetzt`,
      started: (it) => `${it} gestartet`,
      switched: (it) => `${it} ein- oder ausgeschaltet`,
      tested: (it) => `${it} getestet`,
      token_replaced: (it) => `das Token von ${it} ersetzt`,
      updated: (it) => `${it} geändert`,
      withdrawn: (it) => `${it} abgebrochen`,
      not_restored: (it) => `vergeblich versucht, ${it} wiederherzustellen`,
      restored: (it) => `${it} wiederhergestellt`,
    },
    acts: {
      lock: (of) => `${of} gesperrt`,
      unlock: (of) => `${of} entsperrt`,
      beep: (of) => `${of} piepen lassen`,
      message: (of) => `eine Nachricht an ${of} gesendet`,
      'access_request.created': (of) => `Zugang als „${of}“ angefragt`,
      'access_request.deleted': () => 'eine Zugangsanfrage abgelehnt',
      'erasure.created': () => 'Personendaten gelöscht',
      'message.created': (of) => `„${of}“ an Carts gesendet`,
      'person.created': () => 'die PIN eingegeben',
      'person.deleted': () => 'die PIN abgemeldet',
      'recall.created': (of) => `alle Carts zurückgerufen: „${of}“`,
      'recall.deleted': () => 'den Rückruf beendet',
      'session.created': (of) => `„${of}“ angemeldet`,
      'session.deleted': (of) => `„${of}“ abgemeldet`,
    },
    other: (command) => (of) => `„${command}“ an ${of} gesendet`,
    sentence: (who, act, tablet) => `${who} hat ${tablet === null ? '' : `auf „${tablet}“ `}${act}`,
    gateway: 'Das Gateway',
    headOffice: 'Die Zentrale',
    forced: 'trotzdem',
  },
})

/** Id that says nothing to people: its object has been deleted, or has no name. */
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

interface AuditedAct {
  action: string
  target: string
  user_id: string | null
  person: { name: string } | null
  session_id: string | null
  address: string | null
  before: Readonly<Record<string, unknown>> | null
  after: Readonly<Record<string, unknown>> | null
}

/** Names of the objects of actions; an unknown id is its own name. */
export interface AuditNames {
  of: (id: string) => string
  /** Name of the tablet of a session; null if it has ended. */
  tablet: (sessionId: string) => string | null
}

/** Describes an entry, such as "Anna locked cart 7 on “Pro shop”". */
export function auditSentence(entry: AuditedAct, names: AuditNames): string {
  const texts = auditTexts()
  const { action, target, session_id, before, after } = entry
  const fields = { ...before, ...after }
  const field = (key: string) => (typeof fields[key] === 'string' ? String(fields[key]) : null)
  const isPin = action.startsWith('person.')
  const command = action === 'command.created' ? field('command') : null
  const id = field('hardware_id') ?? field('text') ?? field('name') ?? target
  // of a device its own name, not its cart
  const named = action.startsWith('device.') ? id : names.of(id)
  const of = UUID.test(named) ? '' : named
  const who = isPin ? names.of(target) : whoOf(entry, names)
  const act = command === null ? auditAct(action, of) : (texts.acts[command] ?? texts.other(command))(of)
  const forced = fields.forced === true ? ` (${texts.forced})` : ''
  return texts.sentence(who, `${act}${forced}`, session_id === null ? null : names.tablet(session_id))
}

/** Describes an action without who did it, such as "changed device …"; as it is where it has no words. */
export function auditAct(action: string, of = '…'): string {
  const { nouns, verbs, acts }: Record<'nouns' | 'verbs' | 'acts', AuditTexts['acts']> = auditTexts()
  const [noun = '', verb = ''] = action.split('.')
  return acts[action]?.(of) ?? verbs[verb]?.((nouns[noun]?.(of) ?? of).trimEnd()) ?? `${action} ${of}`
}

function whoOf({ user_id, person, address }: AuditedAct, names: AuditNames): string {
  const { gateway, headOffice } = auditTexts()
  if (person !== null) return person.name
  if (user_id !== null) return names.of(user_id)
  return address === null ? gateway : address === 'head office' ? headOffice : address
}
