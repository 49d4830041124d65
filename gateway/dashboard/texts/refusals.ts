import { defineTexts } from './texts.ts'

/** Why the gateway did not do what it was asked for, by the code it answers. */
export const refusalTexts = defineTexts({
  en: {
    noAnswer: 'The gateway does not answer. Try again.',
    other: (detail: string) => `The gateway says: ${detail}`,
    wait: (span: string) => `Too many tries. Try again in ${span}.`,
    byCode: {
      invalid_code: 'This code is wrong, too old, or was used already.',
      invalid_api_key: 'This key is not valid.',
      user_inactive: 'This user is switched off.',
      invalid_session: 'This tablet is signed out.',
      missing_api_key: 'This tablet is signed out.',
      foreign_origin: 'The gateway has another address than this page. Open it by the address it shows.',
      admin_required: 'Only an admin may do this.',
      metrics_only: 'This key is for monitoring only.',
      staff_required: 'Only staff may do this.',
      wrong_pin: 'The PIN is wrong.',
      person_changed: 'Another person acts on this tablet now.',
      user_not_found: 'This user was deleted.',
      request_not_found: 'This tablet does not wait any more.',
      session_not_found: 'This tablet is signed out already.',
      invalid_time_zone: 'There is no such time zone.',
      store_unavailable: 'The gateway cannot store anything now.',
    },
  },
  de: {
    noAnswer: 'Das Gateway antwortet nicht. Nochmal versuchen.',
    other: (detail: string) => `Das Gateway sagt: ${detail}`,
    wait: (span: string) => `Zu viele Versuche. In ${span} geht es wieder.`,
    byCode: {
      invalid_code: 'Dieser Code ist falsch, zu alt oder schon benutzt.',
      invalid_api_key: 'Dieser Schlüssel ist nicht gültig.',
      user_inactive: 'Dieser Benutzer ist abgeschaltet.',
      invalid_session: 'Dieses Tablet ist abgemeldet.',
      missing_api_key: 'Dieses Tablet ist abgemeldet.',
      foreign_origin:
        'Das Gateway hat eine andere Adresse als diese Seite. Mit der Adresse öffnen, die es nennt.',
      admin_required: 'Das darf nur ein Admin.',
      metrics_only: 'Dieser Schlüssel ist nur für die Überwachung.',
      staff_required: 'Das darf nur das Personal.',
      wrong_pin: 'Die PIN ist falsch.',
      person_changed: 'Auf diesem Tablet handelt jetzt jemand anderes.',
      user_not_found: 'Diesen Benutzer gibt es nicht mehr.',
      request_not_found: 'Dieses Tablet wartet nicht mehr.',
      session_not_found: 'Dieses Tablet ist schon abgemeldet.',
      invalid_time_zone: 'Diese Zeitzone gibt es nicht.',
      store_unavailable: 'Das Gateway kann gerade nichts speichern.',
    },
  },
})
