import { defineTexts } from '../texts.ts'

/** Nightly backups. */
export const backupTexts = defineTexts({
  en: {
    title: 'Backups',
    why: 'Every night the gateway copies all data to another place, encrypted.',
    none: 'No backups are configured: if the disk fails, the data is gone.',
    howTo: 'Plug in a USB stick or use an S3 bucket, and set CARTBARN_BACKUP_TO and CARTBARN_BACKUP_PASSPHRASE_FILE.',
    target: 'Target',
    lastGood: 'Last successful',
    next: 'Next',
    nextNow: 'now',
    kept: 'Kept for',
    never: 'none yet',
    overdue: 'No successful backup for 36 hours.',
    lastFailed: (moment: string) => `Last attempt failed (${moment}):`,
    running: 'Backing up …',
    otherMachine:
      'This data comes from another computer, and these backups may be its own. Backups are paused until you answer ' +
      'the question at the top.',
    now: 'Back up now',
    list: 'Available backups',
    listWhy: 'As of the last successful one; use the number with cartbarn restore.',
    numbered: (number: string) => `Backup ${number}`,
    rows: (count: string) => `${count} rows`,
    lacks: 'Not included in backups',
    lacksWhy: 'Needed for a restore as well. Keep the passphrase elsewhere too.',
  },
  de: {
    title: 'Sicherungen',
    why: 'Jede Nacht kopiert das Gateway alle Daten verschlüsselt an einen anderen Ort.',
    none: 'Keine Sicherungen eingerichtet: Fällt der Speicher aus, sind die Daten verloren.',
    howTo:
      'USB-Stick einstecken oder S3-Bucket nutzen und CARTBARN_BACKUP_TO und CARTBARN_BACKUP_PASSPHRASE_FILE setzen.',
    target: 'Ziel',
    lastGood: 'Letzte gelungene',
    next: 'Nächste',
    nextNow: 'jetzt',
    kept: 'Aufbewahrung',
    never: 'noch keine',
    overdue: 'Seit 36 Stunden keine erfolgreiche Sicherung.',
    lastFailed: (moment: string) => `Letzter Versuch fehlgeschlagen (${moment}):`,
    running: 'Sicherung läuft …',
    otherMachine:
      'Diese Daten stammen von einem anderen Rechner, die Sicherungen vielleicht auch. Sie ruhen, bis die Frage oben ' +
      'beantwortet ist.',
    now: 'Jetzt sichern',
    list: 'Vorhandene Sicherungen',
    listWhy: 'Stand der letzten gelungenen; die Nummer gilt für cartbarn restore.',
    numbered: (number: string) => `Sicherung ${number}`,
    rows: (count: string) => `${count} Zeilen`,
    lacks: 'Nicht in Sicherungen',
    lacksWhy: 'Für die Wiederherstellung ebenfalls nötig. Passphrase auch anderswo aufbewahren.',
  },
})
