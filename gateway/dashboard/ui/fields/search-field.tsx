interface SearchFieldProps {
  name: string
  value: string
  onSearch: (text: string) => void
}

/** Field that filters a list as one types. */
export function SearchField({ name, value, onSearch }: SearchFieldProps) {
  return (
    <input
      type="search"
      class="input search"
      aria-label={name}
      placeholder={name}
      autocomplete="off"
      value={value}
      onInput={({ currentTarget }) => onSearch(currentTarget.value)}
    />
  )
}
