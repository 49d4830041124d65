import type { ChecklistJson } from '#shared/wire/checklist.ts'
import { defineTexts } from './texts.ts'

type Step = ChecklistJson['steps'][number]['step']

export const checklistTexts = defineTexts({
  en: {
    title: 'Set up',
    progress: (done: number, all: number) => `${done} of ${all}`,
    done: 'Done',
    doneWith: (count: number) => `Done: ${count}`,
    hide: 'Hide checklist',
    show: 'Show checklist',
    hideTitle: 'Hide the checklist?',
    hideWhy: 'For all admins. Its pages stay in More; “Repairs” there shows it again.',
    steps: {
      devices: ['Devices', 'Add locks, trackers and screens'],
      barn: ['Barn', 'Where carts are parked'],
      course_map: ['Course map', 'Holes, greens and paths'],
      zones: ['Zones', 'Boundary, no-go and slow areas'],
      opening_hours: ['Opening hours', 'For alerts after closing'],
      lock_rules: ['Automatic locks', 'In the barn, and at closing'],
      pins: ['People with a PIN', 'Who did what on a shared tablet'],
      tablets: ['Tablets', 'Sign in the tablets of the staff'],
      notifications: ['Notifications', 'E-mail, push or webhook for alerts'],
      backup: ['Backup', 'None in the last 36 hours'],
      encryption: ['Encryption', 'Others on the network can read keys'],
    } as Readonly<Record<Step, readonly [title: string, lacks: string]>>,
  },
  de: {
    title: 'Einrichten',
    progress: (done: number, all: number) => `${done} von ${all}`,
    done: 'Erledigt',
    doneWith: (count: number) => `Erledigt: ${count}`,
    hide: 'Checkliste ausblenden',
    show: 'Checkliste einblenden',
    hideTitle: 'Checkliste ausblenden?',
    hideWhy: 'Für alle Admins. Ihre Seiten bleiben unter Mehr; „Reparaturen“ dort blendet sie wieder ein.',
    steps: {
      devices: ['Geräte', 'Sperren, Tracker und Bildschirme hinzufügen'],
      barn: ['Halle', 'Wo die Carts parken'],
      course_map: ['Platzkarte', 'Bahnen, Grüns und Wege'],
      zones: ['Zonen', 'Grenze, Verbots- und Langsamzonen'],
      opening_hours: ['Öffnungszeiten', 'Für Alarme nach Betriebsschluss'],
      lock_rules: ['Automatisches Sperren', 'In der Halle und bei Betriebsschluss'],
      pins: ['Personen mit PIN', 'Wer was am gemeinsamen Tablet getan hat'],
      tablets: ['Tablets', 'Tablets des Personals anmelden'],
      notifications: ['Benachrichtigungen', 'E-Mail, Push oder Webhook bei Alarmen'],
      backup: ['Sicherung', 'Keine in den letzten 36 Stunden'],
      encryption: ['Verschlüsselung', 'Andere im Netz können Schlüssel lesen'],
    },
  },
})
