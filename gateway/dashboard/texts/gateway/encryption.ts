import { defineTexts } from '../texts.ts'

/** Encryption status and setup. */
export const encryptionTexts = defineTexts({
  en: {
    title: 'Encryption',
    why: 'Without it, anyone on the same network can read keys and positions.',
    off: 'Not encrypted',
    offHow: 'Run this on the gateway computer, then restart the gateway:',
    on: 'Encryption available for tablets and programs',
    until: 'Certificate valid until',
    authorityUntil: 'CA valid until',
    fingerprint: 'Fingerprint',
    trust: 'Trust the gateway on a tablet',
    trustHow: 'Once per tablet: scan this, follow the steps for Android, iPad or Windows, and compare the fingerprint.',
    certificate: 'Download certificate',
    profile: 'Download iPad profile',
    closed: 'Plain HTTP is off, and with it the page for new tablets. Turn it on while you add tablets.',
    plain: 'Still connecting unencrypted',
    plainWhy: 'Since the gateway started. Once the list is empty, set CARTBARN_PLAIN_HTTP=off.',
    none: 'None.',
    kinds: { session: 'Tablet', user: 'Program', device: 'Device' },
    mqtt: 'MQTT devices',
  },
  de: {
    title: 'Verschlüsselung',
    why: 'Ohne sie kann jeder im selben Netz Schlüssel und Positionen mitlesen.',
    off: 'Nicht verschlüsselt',
    offHow: 'Auf dem Gateway-Rechner ausführen, dann das Gateway neu starten:',
    on: 'Verschlüsselung für Tablets und Programme verfügbar',
    until: 'Zertifikat gültig bis',
    authorityUntil: 'Zertifizierungsstelle gültig bis',
    fingerprint: 'Fingerabdruck',
    trust: 'Dem Gateway auf einem Tablet vertrauen',
    trustHow:
      'Einmal je Tablet: scannen, den Schritten für Android, iPad oder Windows folgen und den Fingerabdruck ' +
      'vergleichen.',
    certificate: 'Zertifikat herunterladen',
    profile: 'iPad-Profil herunterladen',
    closed:
      'Unverschlüsseltes HTTP ist aus, damit auch die Seite für neue Tablets. Zum Einrichten vorübergehend ' +
      'einschalten.',
    plain: 'Noch unverschlüsselt verbunden',
    plainWhy: 'Seit dem Start des Gateways. Ist die Liste leer: CARTBARN_PLAIN_HTTP=off setzen.',
    none: 'Keine.',
    kinds: { session: 'Tablet', user: 'Programm', device: 'Gerät' },
    mqtt: 'MQTT-Geräte',
  },
})
