import { MEASURES, type NumberField, shownDefault, shownNumber } from '#dashboard/live/site-form.ts'
import { unitName } from '#dashboard/texts/format.ts'
import { siteTexts } from '#dashboard/texts/site.ts'
import type { SiteEditor } from './site-editor.ts'
import { SiteField } from './site-field.tsx'

/** Settings that are numbers; an empty field is the default. */
export function NumberFields({ editor, fields }: { editor: SiteEditor; fields: readonly NumberField[] }) {
  const texts = siteTexts()
  const { settings, edits, edit, faults, isReadOnly, units } = editor
  return fields.map((field) => {
    const [name = '', why = ''] = texts.fields[field]
    const measure = MEASURES[field]
    return (
      <SiteField
        key={field}
        name={measure === undefined ? name : `${name}, ${unitName(measure, units)}`}
        {...{ why, fault: faults.get(field) }}
      >
        {(input) => (
          <input
            {...input}
            type="text"
            inputmode="decimal"
            autocomplete="off"
            maxLength={20}
            readOnly={isReadOnly}
            placeholder={texts.empty(shownDefault(field, units) || texts.notKnown)}
            value={edits.numbers?.[field] ?? shownNumber(settings, field, units)}
            onInput={({ currentTarget: { value } }) =>
              edit({ numbers: { ...edits.numbers, [field]: value } })
            }
          />
        )}
      </SiteField>
    )
  })
}
