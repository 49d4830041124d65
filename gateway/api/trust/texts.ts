/** Texts of the page in one language; text set as code is the wording on the tablet's screen. */
export interface TrustTexts {
  title: string
  why: string
  other: string
  compare: string
  open: string
  devices: readonly { name: string; file: string; download: string; steps: readonly string[] }[]
}

const [CRT, PROFILE] = ['/trust/cartbarn.crt', '/trust/cartbarn.mobileconfig']

/** Texts of the page that guides a tablet through trusting the gateway, keyed by language. */
export const TRUST_TEXTS: Readonly<Record<'en' | 'de', TrustTexts>> = {
  en: {
    title: 'Trust this gateway',
    why: 'Do this once on each tablet. From then on nobody on the network can read or change what it shows and does.',
    other: 'Deutsch',
    compare: 'Before you say yes, compare this fingerprint with the one that an admin sees:',
    open: 'Open the app',
    devices: [
      {
        name: 'Android',
        file: CRT,
        download: 'Download the certificate',
        steps: [
          'Download the certificate.',
          'Open Settings and search for “CA certificate” (Security, More security settings, Install from storage).',
          'Choose CA certificate, then Install anyway, and pick cartbarn.crt from the downloads.',
        ],
      },
      {
        name: 'iPad and iPhone',
        file: PROFILE,
        download: 'Download the profile',
        steps: [
          'Open this page in Safari, download the profile and tap Allow.',
          'Open Settings, tap Profile Downloaded at the top, then Install.',
          'Settings, General, About, Certificate Trust Settings: switch cartbarn on.',
        ],
      },
      {
        name: 'Windows',
        file: CRT,
        download: 'Download the certificate',
        steps: [
          'Download the certificate and open it.',
          'Install Certificate, Current User, Place all certificates in the following store: Trusted Root ' +
            'Certification Authorities.',
          'Finish, compare the fingerprint, say Yes, and start the browser again.',
        ],
      },
    ],
  },
  de: {
    title: 'Diesem Gateway vertrauen',
    why:
      'Das ist auf jedem Tablet einmal zu tun. Danach kann im Netz niemand mehr mitlesen oder ändern, was es zeigt ' +
      'und tut.',
    other: 'English',
    compare: 'Vor dem Ja diesen Fingerabdruck mit dem vergleichen, den ein Admin sieht:',
    open: 'App öffnen',
    devices: [
      {
        name: 'Android',
        file: CRT,
        download: 'Zertifikat herunterladen',
        steps: [
          'Das Zertifikat herunterladen.',
          'Die Einstellungen öffnen und nach „CA-Zertifikat“ suchen (Sicherheit, Weitere ' +
            'Sicherheitseinstellungen, Vom Speicher installieren).',
          'CA-Zertifikat wählen, dann Trotzdem installieren, und cartbarn.crt aus den Downloads nehmen.',
        ],
      },
      {
        name: 'iPad und iPhone',
        file: PROFILE,
        download: 'Profil herunterladen',
        steps: [
          'Diese Seite in Safari öffnen, das Profil herunterladen und Zulassen antippen.',
          'Die Einstellungen öffnen, oben Profil geladen antippen, dann Installieren.',
          'Einstellungen, Allgemein, Info, Zertifikatsvertrauenseinstellungen: cartbarn einschalten.',
        ],
      },
      {
        name: 'Windows',
        file: CRT,
        download: 'Zertifikat herunterladen',
        steps: [
          'Das Zertifikat herunterladen und öffnen.',
          'Zertifikat installieren, Aktueller Benutzer, Alle Zertifikate in folgendem Speicher speichern: ' +
            'Vertrauenswürdige Stammzertifizierungsstellen.',
          'Fertig stellen, den Fingerabdruck vergleichen, Ja, und den Browser neu starten.',
        ],
      },
    ],
  },
}
