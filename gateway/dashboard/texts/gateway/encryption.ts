import { defineTexts } from '../texts.ts'

/** Encryption of the network: its state, and the steps to switch it on. */
export const encryptionTexts = defineTexts({
  en: {
    title: 'Encryption',
    why: 'Without it everybody on the same network can read keys and positions.',
    off: 'Nothing is encrypted',
    offHow: 'On the computer of the gateway type this, and start the gateway again:',
    on: 'Tablets and programs can use encryption',
    until: 'Certificate valid until',
    authorityUntil: 'Authority valid until',
    fingerprint: 'Fingerprint',
    trust: 'A tablet is to trust the gateway',
    trustHow:
      'Each tablet once: point its camera at this, do what the page says for Android, iPad or Windows, and ' +
      'compare the fingerprint.',
    certificate: 'Download the certificate',
    profile: 'Download the profile for iPad',
    closed: 'Plain HTTP is closed, and with it the page for new tablets: open it for as long as they need.',
    plain: 'Who still comes without encryption',
    plainWhy: 'Since the gateway was started. When nobody does, CARTBARN_PLAIN_HTTP=off closes that way.',
    nobody: 'Nobody.',
    kinds: { session: 'Tablet', user: 'Program', device: 'Device' },
    mqtt: 'Devices by MQTT',
  },
  de: {
    title: 'Verschlüsselung',
    why: 'Ohne sie kann jeder im selben Netz Schlüssel und Positionen mitlesen.',
    off: 'Nichts ist verschlüsselt',
    offHow: 'Auf dem Rechner des Gateways das eingeben und das Gateway neu starten:',
    on: 'Tablets und Programme können verschlüsseln',
    until: 'Zertifikat gültig bis',
    authorityUntil: 'Zertifizierungsstelle gültig bis',
    fingerprint: 'Fingerabdruck',
    trust: 'Ein Tablet soll dem Gateway vertrauen',
    trustHow:
      'Auf jedem Tablet einmal: seine Kamera darauf richten, tun, was die Seite für Android, iPad oder Windows ' +
      'sagt, und den Fingerabdruck vergleichen.',
    certificate: 'Zertifikat herunterladen',
    profile: 'Profil für das iPad herunterladen',
    closed:
      'Einfaches HTTP ist geschlossen und damit auch die Seite für neue Tablets: so lange öffnen, wie diese es ' +
      'brauchen.',
    plain: 'Wer noch unverschlüsselt kommt',
    plainWhy: 'Seit dem Start des Gateways. Wenn es niemand mehr ist, schließt CARTBARN_PLAIN_HTTP=off diesen Weg.',
    nobody: 'Niemand.',
    kinds: { session: 'Tablet', user: 'Programm', device: 'Gerät' },
    mqtt: 'Geräte über MQTT',
  },
})
