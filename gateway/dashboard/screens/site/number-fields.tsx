import { NUMBER_DEFAULTS, type NumberField, shownNumber } from '#dashboard/live/site-form.ts'
import { siteTexts } from '#dashboard/texts/site.ts'
import type { SiteEditor } from './site-editor.ts'
import { SiteField } from './site-field.tsx'

/** Settings that are numbers; an empty field is the default. */
export function NumberFields({ editor, fields }: { editor: SiteEditor; fields: readonly NumberField[] }) {
  const texts = siteTexts()
  const { settings, edits, edit, faults, isReadOnly } = editor
  return fields.map((field) => {
    const [name = '', why = ''] = texts.fields[field]
    const preset = NUMBER_DEFAULTS[field]
    return (
      <SiteField key={field} name={name} why={why} fault={faults.get(field)}>
        {(input) => (
          <input
            {...input}
            type="text"
            inputmode="decimal"
            autocomplete="off"
            maxLength={20}
            readOnly={isReadOnly}
            placeholder={texts.empty(preset === null ? texts.notKnown : String(preset))}
            value={edits.numbers?.[field] ?? shownNumber(settings, field)}
            onInput={({ currentTarget: { value } }) =>
              edit({ numbers: { ...edits.numbers, [field]: value } })
            }
          />
        )}
      </SiteField>
    )
  })
}
