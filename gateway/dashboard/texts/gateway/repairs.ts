import { defineTexts } from '../texts.ts'

export const repairTexts = defineTexts({
  en: {
    what: 'Faults that the gateway finds itself, and their remedies.',
    none: 'No faults found.',
    outside: 'Ports, permissions, the package and the disk are checked on the gateway computer: sudo cartbarn doctor',
    levels: { mind: 'Risk', wrong: 'Fault' },
    actions: {
      accept_loss: 'Accept',
      back_up: 'Back up now',
      confirm_clock: 'Confirm time',
      confirm_machine: 'Same course',
      renew_certificate: 'Renew certificate',
      send_test: 'Send test message',
    },
    done: {
      accept_loss: 'Accepted.',
      back_up: 'Backup started. The finding goes when it has succeeded.',
      confirm_clock: 'Time confirmed.',
      confirm_machine: 'Confirmed.',
      renew_certificate: 'Certificate renewed.',
      send_test: 'Test message sent. The finding goes when it has arrived.',
    },
    notRenewed: (detail: string) => `Not renewed: ${detail}`,
    isIt: (time: string) => `The gateway's time is ${time}. Compare it with another clock.`,
    view: 'View',
  },
  de: {
    what: 'Fehler, die das Gateway selbst findet, und was dagegen hilft.',
    none: 'Keine Fehler gefunden.',
    outside: 'Ports, Rechte, Paket und Datenträger prüft am Gateway-Rechner: sudo cartbarn doctor',
    levels: { mind: 'Risiko', wrong: 'Fehler' },
    actions: {
      accept_loss: 'Akzeptieren',
      back_up: 'Jetzt sichern',
      confirm_clock: 'Zeit bestätigen',
      confirm_machine: 'Derselbe Platz',
      renew_certificate: 'Zertifikat erneuern',
      send_test: 'Testnachricht senden',
    },
    done: {
      accept_loss: 'Akzeptiert.',
      back_up: 'Sicherung gestartet. Der Eintrag geht, sobald sie gelungen ist.',
      confirm_clock: 'Zeit bestätigt.',
      confirm_machine: 'Bestätigt.',
      renew_certificate: 'Zertifikat erneuert.',
      send_test: 'Testnachricht gesendet. Der Eintrag geht, sobald sie angekommen ist.',
    },
    notRenewed: (detail: string) => `Nicht erneuert: ${detail}`,
    isIt: (time: string) => `Die Zeit des Gateways ist ${time}. Mit einer anderen Uhr vergleichen.`,
    view: 'Ansehen',
  },
})
