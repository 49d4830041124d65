import { defineTexts } from '../texts.ts'

/** The nightly backups. */
export const backupTexts = defineTexts({
  en: {
    title: 'Backups',
    why: 'Every night the gateway copies all it stores to another place, encrypted.',
    none: 'This gateway makes no backups: what is only on its disk is lost with it.',
    howTo:
      'Plug a USB stick into its computer, or use an S3 bucket, and set CARTBARN_BACKUP_TO and ' +
      'CARTBARN_BACKUP_PASSPHRASE_FILE.',
    target: 'Where',
    lastGood: 'Last good one',
    next: 'Next one',
    nextNow: 'now',
    kept: 'Are kept',
    never: 'none yet',
    overdue: 'There was no good backup for 36 hours.',
    lastFailed: (moment: string) => `The last attempt failed (${moment}):`,
    running: 'A backup is being made …',
    otherMachine:
      'This data comes from another machine, whose backups these may be: none is made and none deleted until you ' +
      'say at the top of the screen what this is.',
    now: 'Back up now',
    list: 'Backups that are there',
    listWhy: 'As it was after the last good one; the number is what cartbarn restore takes.',
    numbered: (number: string) => `Backup ${number}`,
    rows: (count: string) => `${count} rows`,
    lacks: 'No backup contains',
    lacksWhy: 'Whoever restores one needs these besides. Keep the passphrase elsewhere too.',
  },
  de: {
    title: 'Sicherungen',
    why: 'Jede Nacht kopiert das Gateway alles, was es speichert, verschlüsselt an einen anderen Ort.',
    none: 'Dieses Gateway macht keine Sicherungen: Was nur auf seiner Platte ist, geht mit ihr verloren.',
    howTo:
      'Einen USB-Stick in seinen Rechner stecken oder einen S3-Bucket nehmen, und CARTBARN_BACKUP_TO und ' +
      'CARTBARN_BACKUP_PASSPHRASE_FILE setzen.',
    target: 'Wohin',
    lastGood: 'Letzte gute',
    next: 'Nächste',
    nextNow: 'jetzt',
    kept: 'Aufbewahrt werden',
    never: 'noch keine',
    overdue: 'Seit 36 Stunden gab es keine gute Sicherung.',
    lastFailed: (moment: string) => `Der letzte Versuch ist fehlgeschlagen (${moment}):`,
    running: 'Eine Sicherung wird gemacht …',
    otherMachine:
      'Diese Daten kommen von einem anderen Rechner, dessen Sicherungen das sein können: Es wird keine gemacht ' +
      'und keine gelöscht, bis oben auf dem Bildschirm gesagt ist, was das hier ist.',
    now: 'Jetzt sichern',
    list: 'Vorhandene Sicherungen',
    listWhy: 'Stand nach der letzten guten; die Nummer ist die für cartbarn restore.',
    numbered: (number: string) => `Sicherung ${number}`,
    rows: (count: string) => `${count} Zeilen`,
    lacks: 'In keiner Sicherung ist',
    lacksWhy: 'Wer eine zurückspielt, braucht das außerdem. Die Passphrase auch an einem anderen Ort aufbewahren.',
  },
})
