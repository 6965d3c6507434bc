// Symbols, drawn with the colour of the text around them.

import type { ComponentChildren } from "preact";

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

export const Logo = () => (
  <svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="7" />
    <path d="M5 21h3l3-9 4 14 4-20 3 12 2-4h3" />
  </svg>
);
export const Sun = () => (
  <Icon>
    <circle cx="8" cy="8" r="3" />
    <path d="M8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.4 1.4M11.6 11.6 13 13M3 13l1.4-1.4M11.6 4.4 13 3" />
  </Icon>
);
export const Moon = () => (
  <Icon>
    <path d="M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1Z" />
  </Icon>
);
export const Screen = () => (
  <Icon>
    <rect x="1.5" y="2.5" width="13" height="9" rx="1.5" />
    <path d="M5.5 14h5M8 11.5V14" />
  </Icon>
);
export const Left = () => (
  <Icon>
    <path d="m10 3-5 5 5 5" />
  </Icon>
);
export const Right = () => (
  <Icon>
    <path d="m6 3 5 5-5 5" />
  </Icon>
);
export const Copy = () => (
  <Icon>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" />
  </Icon>
);
export const Warning = () => (
  <Icon>
    <path d="M8 2 1.5 13.5h13L8 2ZM8 6.5v3.2M8 11.6v.4" />
  </Icon>
);
